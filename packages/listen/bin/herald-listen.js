#!/usr/bin/env node
import "../dist/listen-command.js";
