#!/usr/bin/env node
import "../dist/listen/listen-command.js";
