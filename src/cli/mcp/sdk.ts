// The packages of the Model Context Protocol. tools/pack-cli.mjs puts this file into the package of the command line together
// with all that it imports, so nothing else in src/cli may import a package.
export { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
export { z } from 'zod'
