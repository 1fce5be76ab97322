// Asks a server with the model "echo" what the protocol offers, by @grpc/grpc-js.
// Arguments: the folder of the .proto files, the server's address.
const assert = require('assert');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [protocol, address] = process.argv.slice(2);
const definition = loader.loadSync('inference.proto', {includeDirs: [protocol], keepCase: true, longs: Number});
const {inference} = grpc.loadPackageDefinition(definition);
const client = new inference.GRPCInferenceService(address, grpc.credentials.createInsecure());

const call = (method, request) =>
  new Promise((resolve, reject) =>
    client[method](request, (error, answer) => (error ? reject(error) : resolve(answer))));

const question = values => ({
  model_name: 'echo',
  id: 'from node',
  inputs: [{name: 'x', datatype: 'FP32', shape: [1, 4]}],
  raw_input_contents: [Buffer.from(new Float32Array(values).buffer)],
});

const floats = bytes => Array.from({length: bytes.length / 4}, (_, i) => bytes.readFloatLE(4 * i));

async function unary() {
  assert.strictEqual((await call('ServerLive', {})).live, true);
  assert.strictEqual((await call('ServerMetadata', {})).name, 'pipelane');
  assert.strictEqual((await call('ModelReady', {name: 'echo'})).ready, true);
  assert.ok(!(await call('ModelReady', {name: 'nobody'})).ready);
  const metadata = await call('ModelMetadata', {name: 'echo'});
  assert.deepStrictEqual(metadata.inputs[0].shape, [-1, 4]);
  const answer = await call('ModelInfer', question([1, 2, 3, 4]));
  assert.strictEqual(answer.id, 'from node');
  assert.deepStrictEqual(floats(answer.raw_output_contents[0]), [1, 2, 3, 4]);
  await assert.rejects(call('ModelInfer', {model_name: 'nobody'}), {code: grpc.status.NOT_FOUND});
  const index = await call('RepositoryIndex', {});
  assert.ok(index.models.some(model => model.name === 'echo' && model.state === 'READY'));
  const {config} = await call('ModelConfig', {name: 'echo'});
  assert.deepStrictEqual(config.input[0].dims, [-1, 4]);
  const {model_stats: stats} = await call('ModelStatistics', {name: 'echo'});
  assert.strictEqual(stats.reduce((sum, model) => sum + (model.inference_stats.success.count || 0), 0), 1);
}

function stream() {
  return new Promise((resolve, reject) => {
    const answers = [];
    const calls = client.ModelStreamInfer();
    calls.on('data', answer =>
      answers.push(
        answer.error_message
          ? answer.infer_response.id
          : floats(answer.infer_response.raw_output_contents[0])[0]));
    calls.on('error', reject);
    calls.on('end', () => resolve(answers));
    for (let i = 0; i < 10; i++) {
      calls.write(question([i, 0, 0, 0]));
    }
    calls.write({model_name: 'nobody', id: 'in vain'});
    calls.end();
  });
}

(async () => {
  await unary();
  assert.deepStrictEqual(await stream(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 'in vain']);
  client.close();
  console.log('all is well');
})().catch(error => {
  console.error(error);
  process.exit(1);
});
