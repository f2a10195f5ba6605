#!/usr/bin/env -S node --max-semi-space-size=64
// The command `colloquy`: starts the server. With a young generation of 64 MiB, most short-lived objects of requests are
// collected there; the size can only be set when Node starts.

import './config/production.ts'
import { main } from './main.ts'

void main()
