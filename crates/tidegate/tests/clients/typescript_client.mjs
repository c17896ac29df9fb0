// Asks a server for everything with one of the official TypeScript clients and prints the answers as JSON.
//
// Arguments: the client package (sdk or client), and JSON that says how to reach the server and which calls to make.

const [which, text] = process.argv.slice(2);
const wanted = JSON.parse(text);

async function load() {
  if (which === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return { Client, StdioClientTransport, StreamableHTTPClientTransport };
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  return { Client, StdioClientTransport, StreamableHTTPClientTransport };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await load();
const { url, token, command, args, env } = wanted.target;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  : new StdioClientTransport({ command, args, env, stderr: 'inherit' });
const client = new Client({ name: 'test', version: '1' }, { capabilities: {} });
const notes = [];
client.fallbackNotificationHandler = async (note) => {
  notes.push(note.method);
};

async function attempt(asking) {
  try {
    return await asking();
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

await client.connect(transport);
const said = { tools: (await client.listTools()).tools };
said.resources = (await attempt(() => client.listResources())).resources ?? [];
said.templates = (await attempt(() => client.listResourceTemplates())).resourceTemplates ?? [];
said.prompts = (await attempt(() => client.listPrompts())).prompts ?? [];
said.calls = [];
for (const call of wanted.calls) {
  said.calls.push(await attempt(() => client.callTool({ name: call.tool, arguments: call.arguments ?? {} })));
}
said.reads = [];
for (const uri of wanted.reads) {
  said.reads.push(await attempt(() => client.readResource({ uri })));
}
said.gets = [];
for (const get of wanted.gets) {
  said.gets.push(await attempt(() => client.getPrompt(get)));
}
await new Promise((done) => setTimeout(done, 300));
said.notes = notes;
await client.close();
console.log(JSON.stringify(said));
