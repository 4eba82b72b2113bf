// Starts Chromium inside the confinement of this process, then the MCP server
// that drives it. The first argument is the folder with node_modules.
import { createRequire } from 'node:module';

const [store] = process.argv.splice(2, 1);
const load = createRequire(store + '/');
const browser = await load('playwright-core').chromium.launchServer({
  executablePath: '/usr/lib/chromium/chromium-headless-shell', host: '127.0.0.1',
  chromiumSandbox: false, proxy: { server: process.env.HTTP_PROXY },
});
process.argv.push('--endpoint', browser.wsEndpoint());
load('./node_modules/@playwright/mcp/cli.js');
