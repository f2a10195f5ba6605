#!/usr/bin/env -S node --max-semi-space-size=64
// The command `colloquy`: without arguments, starts the server; otherwise, runs a command. The flag enlarges V8's
// semi-spaces to 64 MiB, so that most short-lived objects of requests are collected in the young generation. V8
// accepts the flag only when Node starts.

import './config/command-environment.ts'
import { main } from './main.ts'

void main(process.argv.slice(2))
