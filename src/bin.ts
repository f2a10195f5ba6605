#!/usr/bin/env -S node --max-semi-space-size=64
// `colloquy`: the server as a process. A larger young generation (64 MiB) lets short-lived objects of busy requests die
// there; it can only be set when Node starts.

import './config/production.ts'
import { main } from './main.ts'

void main()
