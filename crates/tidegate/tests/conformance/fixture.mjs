// The server that the conformance suite is run against: its test tools, resources and prompts, on the official SDK.
// Both eras at one address; the first line on standard output says where.

import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  localhostHostValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ResourceNotFoundError,
  Server
} from '@modelcontextprotocol/server';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const INVALID_PARAMS = -32602;

const text = words => ({ type: 'text', text: words });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const said = (...content) => ({ content });
const embedded = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const form = (properties, required = []) => ({ type: 'object', properties, required });
const ask = (message, name) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: form({ [name]: { type: 'string' } }, [name]) }
});
const think = words => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens: 100 }
});
const roots = { method: 'roots/list', params: {} };

// State that goes through the client is signed.
const key = randomBytes(32);
const sign = state => createHmac('sha256', key).update(state).digest('hex');
const seal = state => `${state}.${sign(state)}`;
const unseal = sealed => {
  const at = sealed.lastIndexOf('.');
  const [state, mark] = [sealed.slice(0, at), sealed.slice(at + 1)];
  const good = mark.length === 64 && timingSafeEqual(Buffer.from(mark), Buffer.from(sign(state)));
  if (!good) throw new ProtocolError(INVALID_PARAMS, 'the request state was changed');
  return state;
};

const accepted = (ctx, name) => {
  const answer = ctx.mcpReq.inputResponses?.[name];
  return answer?.action === 'accept' && typeof answer.content === 'object' ? answer.content : undefined;
};
const answered = (ctx, names) => names.every(name => ctx.mcpReq.inputResponses?.[name] !== undefined);
const declared = ctx => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};

const elicitDefaults = form({
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true }
});
const titled = (many, word) => ['1', '2', '3'].map(n => ({ const: `value${n}`, title: `${word} ${n}` }));
const elicitEnums = form({
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled(false, 'Option') },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled(true, 'Choice') } }
});
const elicited = async (ctx, message, requestedSchema) => {
  const answer = await ctx.mcpReq.elicitInput({ mode: 'form', message, requestedSchema });
  return said(text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`));
};

const NEW_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } }
    }
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' }
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false
};

// Every tool: what it takes, and what it does.
const NONE = { type: 'object', properties: {} };
const TOOLS = {
  test_simple_text: [NONE, () => said(text('This is a simple text response for testing.'))],
  test_image_content: [NONE, () => said(image)],
  test_audio_content: [NONE, () => said({ type: 'audio', data: SILENCE, mimeType: 'audio/wav' })],
  test_embedded_resource: [
    NONE,
    () => said(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'))
  ],
  test_multiple_content_types: [
    NONE,
    () =>
      said(
        text('Multiple content types test:'),
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')
      )
  ],
  test_tool_with_logging: [
    NONE,
    async (_, ctx) => {
      for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await ctx.mcpReq.log('info', step);
        await sleep(50);
      }
      return said(text('logged'));
    }
  ],
  test_logging_tool: [
    NONE,
    async (_, ctx) => {
      await ctx.mcpReq.log('info', 'one step');
      return said(text('logged'));
    }
  ],
  test_tool_with_progress: [
    NONE,
    async (_, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 100 }
          });
        }
        await sleep(50);
      }
      return said(text(`progress was told to ${progressToken}`));
    }
  ],
  test_error_handling: [
    NONE,
    () => ({ ...said(text('This tool intentionally returns an error for testing')), isError: true })
  ],
  test_reconnection: [
    NONE,
    async (_, ctx) => {
      ctx.http?.closeSSE?.();
      await sleep(100);
      return said(text('reconnected'));
    }
  ],
  test_sampling: [
    form({ prompt: { type: 'string' } }, ['prompt']),
    async ({ prompt }, ctx) => {
      const answer = await ctx.mcpReq.requestSampling(think(prompt).params);
      return said(text(`LLM response: ${answer.content.text ?? ''}`));
    }
  ],
  test_elicitation: [
    form({ message: { type: 'string' } }, ['message']),
    ({ message }, ctx) =>
      elicited(ctx, message, form({ username: { type: 'string' }, email: { type: 'string' } }, ['username', 'email']))
  ],
  test_elicitation_sep1034_defaults: [NONE, (_, ctx) => elicited(ctx, 'Please look at the defaults', elicitDefaults)],
  test_elicitation_sep1330_enums: [NONE, (_, ctx) => elicited(ctx, 'Please choose', elicitEnums)],
  json_schema_2020_12_tool: [NEW_SCHEMA, taken => said(text(JSON.stringify(taken)))],
  test_missing_capability: [
    NONE,
    (_, ctx) => {
      if (!declared(ctx).sampling) {
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      }
      return said(text('the client can sample'));
    }
  ],
  test_streaming_elicitation: [
    NONE,
    (_, ctx) =>
      accepted(ctx, 'confirm') ? said(text('done')) : inputRequired({ inputRequests: { confirm: ask('Go on?', 'ok') } })
  ],
  test_trigger_tool_change: [NONE, () => (handler.notify.toolsChanged(), said(text('told')))],
  test_trigger_prompt_change: [NONE, () => (handler.notify.promptsChanged(), said(text('told')))],
  test_input_required_result_elicitation: [
    NONE,
    (_, ctx) => {
      const name = accepted(ctx, 'user_name')?.name;
      return typeof name === 'string'
        ? said(text(`Hello, ${name}!`))
        : inputRequired({ inputRequests: { user_name: ask('What is your name?', 'name') } });
    }
  ],
  test_input_required_result_sampling: [
    NONE,
    (_, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.capital_question;
      return answer
        ? said(text(`the model said: ${answer.content?.text ?? ''}`))
        : inputRequired({ inputRequests: { capital_question: think('What is the capital of France?') } });
    }
  ],
  test_input_required_result_list_roots: [
    NONE,
    (_, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.client_roots;
      return answer
        ? said(text(`roots: ${(answer.roots ?? []).map(root => root.uri).join(' ')}`))
        : inputRequired({ inputRequests: { client_roots: roots } });
    }
  ],
  test_input_required_result_request_state: [NONE, (_, ctx) => stateful(ctx, 'state-ok')],
  test_input_required_result_tampered_state: [NONE, (_, ctx) => stateful(ctx, 'state-ok')],
  test_input_required_result_multiple_inputs: [
    NONE,
    (_, ctx) =>
      answered(ctx, ['user_name', 'greeting', 'client_roots'])
        ? said(text('all of it is here'))
        : inputRequired({
            inputRequests: {
              user_name: ask('What is your name?', 'name'),
              greeting: think('Generate a greeting'),
              client_roots: roots
            },
            requestState: seal('several')
          })
  ],
  test_input_required_result_multi_round: [
    NONE,
    (_, ctx) => {
      const state = ctx.mcpReq.requestState();
      const round = state === undefined ? 'none' : unseal(state);
      if (round === 'first' && accepted(ctx, 'step1')) {
        return inputRequired({
          inputRequests: { step2: ask('Step 2: What is your favorite color?', 'color') },
          requestState: seal('second')
        });
      }
      if (round === 'second' && accepted(ctx, 'step2')) return said(text('both steps are done'));
      return inputRequired({
        inputRequests: { step1: ask('Step 1: What is your name?', 'name') },
        requestState: seal('first')
      });
    }
  ],
  test_input_required_result_capabilities: [
    NONE,
    (_, ctx) => {
      const can = declared(ctx);
      const inputRequests = {};
      if (can.elicitation) inputRequests.name = ask('What is your name?', 'name');
      if (can.sampling) inputRequests.greeting = think('Generate a greeting');
      if (can.roots) inputRequests.roots = roots;
      return answered(ctx, Object.keys(inputRequests))
        ? said(text('all of it is here'))
        : inputRequired({ inputRequests });
    }
  ]
};

function stateful(ctx, word) {
  const state = ctx.mcpReq.requestState();
  if (state === undefined) {
    const confirm = { ...ask('Please confirm', 'ok') };
    confirm.params = { ...confirm.params, requestedSchema: form({ ok: { type: 'boolean' } }, ['ok']) };
    return inputRequired({ inputRequests: { confirm }, requestState: seal('asked') });
  }
  return unseal(state) === 'asked' ? said(text(word)) : said(text('another state'));
}

const user = content => ({ role: 'user', content });
const PROMPTS = {
  test_simple_prompt: [[], () => [user(text('This is a simple prompt for testing.'))]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))]
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    ({ resourceUri }) => [
      user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      user(text('Please process the embedded resource above.'))
    ]
  ],
  test_prompt_with_image: [[], () => [user(image), user(text('Please analyze the image above.'))]],
  test_input_required_result_prompt: [
    [],
    (_, ctx) => {
      const context = accepted(ctx, 'user_context')?.context;
      return context
        ? [user(text(`context: ${context}`))]
        : inputRequired({ inputRequests: { user_context: ask('What context should the prompt use?', 'context') } });
    }
  ]
};

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' }
};

function read(uri) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: 'application/json', text: data }] };
  }
  if (!RESOURCES[uri]) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, ...RESOURCES[uri] }] };
}

function build({ era }) {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {}
      },
      instructions: 'Every tool here is for testing.',
      cacheHints: { 'tools/list': { ttlMs: 1000, cacheScope: 'private' } }
    }
  );
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(TOOLS).map(([name, [inputSchema]]) => ({
      name,
      description: `Test tool ${name}`,
      inputSchema
    }))
  }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = TOOLS[params.name];
    if (!tool) throw new ProtocolError(INVALID_PARAMS, `no tool ${params.name}`);
    return tool[1](params.arguments ?? {}, ctx);
  });
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({
      name,
      description: `Test prompt ${name}`,
      arguments: names.map(argument => ({ name: argument, description: argument, required: true }))
    }))
  }));
  server.setRequestHandler('prompts/get', async ({ params }, ctx) => {
    const prompt = PROMPTS[params.name];
    if (!prompt) throw new ProtocolError(INVALID_PARAMS, `no prompt ${params.name}`);
    const got = prompt[1](params.arguments ?? {}, ctx);
    return Array.isArray(got) ? { messages: got } : got;
  });
  server.setRequestHandler('resources/list', () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), mimeType }))
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }]
  }));
  server.setRequestHandler('resources/read', ({ params }) => read(params.uri));
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  if (era === 'legacy') {
    server.setRequestHandler('resources/subscribe', () => ({}));
    server.setRequestHandler('resources/unsubscribe', () => ({}));
  }
  return server;
}

// Events of one session, so that a stream that broke off can be taken up again.
function events() {
  const kept = [];
  return {
    async storeEvent(stream, message) {
      kept.push({ stream, message });
      return String(kept.length);
    },
    async getStreamIdForEventId(id) {
      return kept[Number(id) - 1]?.stream;
    },
    async replayEventsAfter(id, { send }) {
      const stream = kept[Number(id) - 1]?.stream;
      for (let at = Number(id); at < kept.length; at += 1) {
        if (kept[at].stream === stream && Object.keys(kept[at].message).length > 0) {
          await send(String(at + 1), kept[at].message);
        }
      }
      return stream;
    }
  };
}

const handler = createMcpHandler(build, { legacy: 'reject' });
const modern = toNodeHandler(handler);
const sessions = new Map();
const isHere = localhostHostValidation();

async function legacy(request, response, body) {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport && id === undefined && body?.method === 'initialize') {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: events(),
      retryInterval: 500,
      onsessioninitialized: opened => void sessions.set(opened, transport)
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build({ era: 'legacy' }).connect(transport);
  }
  if (transport) return transport.handleRequest(request, response, body);
  const code = id === undefined ? 400 : 404;
  const error = { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no such session' } };
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(error));
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

const listener = http.createServer(async (request, response) => {
  if (!isHere(request, response)) return;
  const body = request.method === 'POST' ? await bodyOf(request) : undefined;
  const web = await toWebRequest(request, body);
  if (await isLegacyRequest(web)) await legacy(request, response, body);
  else await modern(request, response, body);
});
listener.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${listener.address().port}/mcp`));
