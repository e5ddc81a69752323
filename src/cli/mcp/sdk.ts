// The packages of the Model Context Protocol. tools/pack-cli.mjs puts this file into the package of the command line together
// with all that it imports, so nothing else in src/cli may import a package.
export { McpServer } from '@modelcontextprotocol/server'
export { serveStdio } from '@modelcontextprotocol/server/stdio'
export { z } from 'zod'
