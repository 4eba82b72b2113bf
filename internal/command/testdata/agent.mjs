// An agent whose model is scripted: it asks for two files through the MCP
// server that the arguments name, and prints what the tools told it.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [store, kind, ...rest] = process.argv.slice(2);
const find = createRequire(store + '/');
const load = (name) => import(pathToFileURL(find.resolve(name)));
const { generateText, isStepCount } = await load('ai');
const { MockLanguageModelV4 } = await load('ai/test');
const { createMCPClient } = await load('@ai-sdk/mcp');
const { Experimental_StdioMCPTransport } = await load('@ai-sdk/mcp/mcp-stdio');

const transport = kind === 'stdio'
  ? new Experimental_StdioMCPTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : { type: 'http', url: rest[0], headers: { Authorization: 'Bearer ' + rest[1] } };
const client = await createMCPClient({ transport });
try {
  const wanted = ['README.md', '/etc/passwd'];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ tools, prompt }) => {
      const path = wanted.shift();
      const content = path === undefined
        ? [{ type: 'text', text: JSON.stringify(prompt.filter((m) => m.role === 'tool')) }]
        : [{ type: 'tool-call', toolCallId: 'call-' + path, toolName: tools.find((t) => t.name === 'read_file').name, input: JSON.stringify({ path }) }];
      return {
        content, warnings: [],
        finishReason: { unified: path === undefined ? 'stop' : 'tool-calls', raw: undefined },
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      };
    },
  });
  const { text } = await generateText({ model, tools: await client.tools(), prompt: 'Read them.', stopWhen: isStepCount(5) });
  console.log(text);
} finally {
  await client.close();
}
