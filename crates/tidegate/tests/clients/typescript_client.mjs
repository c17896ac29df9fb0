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
const capabilities = wanted.tasks ? { elicitation: {}, tasks: { requests: {} } } : {};
const client = new Client({ name: 'test', version: '1' }, { capabilities });
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

/** A call that runs as a task, from its beginning to its result, and one that is cancelled. */
async function asTasks() {
  const { CallToolResultSchema, ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const asked = [];
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked.push(request.params.message);
    return { action: 'accept', content: { interpretation: 'technical' } };
  });
  await client.connect(transport);
  // The server offers its tools for tasks once it knows its client.
  const said = { tools: (await client.listTools()).tools.filter((tool) => !tool.name.startsWith('tidegate_')) };
  said.tools = said.tools.map(({ name, execution }) => ({ name, execution }));
  const tasks = client.experimental.tasks;
  const call = { name: 'simulate-research-query', arguments: { topic: 'tides', ambiguous: true } };
  const task = { ttl: 60000 };
  const seen = new Set();
  let created;
  for await (const step of tasks.callToolStream(call, CallToolResultSchema, { task })) {
    seen.add(step.type === 'taskStatus' ? `${step.type} ${step.task.status}` : step.type);
    created ??= step.task?.taskId;
    said.result = step.result ?? step.error;
  }
  said.seen = [...seen].filter((step) => step !== 'taskStatus working');
  said.asked = asked;
  said.status = (await tasks.getTask(created)).status;
  for await (const step of tasks.callToolStream(call, CallToolResultSchema, { task })) {
    if (step.type === 'taskCreated') {
      said.cancelled = (await tasks.cancelTask(step.task.taskId)).status;
      break;
    }
  }
  said.listed = (await tasks.listTasks()).tasks.map((listed) => listed.status);
  said.unknown = await attempt(() => tasks.getTask('no-such-task'));
  await client.close();
  // Which task is meant is a matter of the day.
  console.log(JSON.stringify(said).replaceAll(created, 'the task'));
}

if (wanted.tasks) {
  await asTasks();
  process.exit(0);
}
await client.connect(transport);
const said = { tools: (await client.listTools()).tools };
said.resources = (await attempt(() => client.listResources())).resources ?? [];
said.templates = (await attempt(() => client.listResourceTemplates())).resourceTemplates ?? [];
said.prompts = (await attempt(() => client.listPrompts())).prompts ?? [];
said.calls = [];
const names = said.tools.map((tool) => tool.name);
for (const call of wanted.calls.filter((call) => names.includes(call.tool))) {
  said.calls.push(await attempt(() => client.callTool({ name: call.tool, arguments: call.arguments ?? {} })));
}
said.reads = [];
const unread = ['tidegate://session', ...wanted.unread];
const listed = said.resources.map((resource) => resource.uri).filter((uri) => !unread.includes(uri));
for (const uri of [...listed, ...wanted.reads]) {
  said.reads.push(await attempt(() => client.readResource({ uri })));
}
said.gets = [];
for (const get of wanted.gets) {
  said.gets.push(await attempt(() => client.getPrompt(get)));
}
said.completes = [];
for (const { prompt, template, argument, context } of wanted.completes) {
  const ref = prompt ? { type: 'ref/prompt', name: prompt } : { type: 'ref/resource', uri: template };
  const asked = { ref, argument, ...(context && { context: { arguments: context } }) };
  said.completes.push(await attempt(() => client.complete(asked)));
}
await new Promise((done) => setTimeout(done, 300));
said.notes = notes;
await client.close();
console.log(JSON.stringify(said));
