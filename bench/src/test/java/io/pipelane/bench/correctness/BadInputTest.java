package io.pipelane.bench.correctness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.model.NoopModel;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.demo.Questions;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.InferenceMessages;
import io.pipelane.demo.protocol.InferenceMessages.BinaryBody;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.SharedCache;
import io.pipelane.server.PipelaneServer;
import io.pipelane.switcher.memory.account.Ledger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A running server is told nonsense; each time it names the fault, then answers the next good
 * request, and its ledger is as before.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class BadInputTest {
  private static final String GOOD_MODEL = DemoModel.PPOCR_CLS.modelName();
  private static final String LARGE_MODEL = DemoModel.PPOCR_REC.modelName();
  private static final String CORRUPT_MODEL = "corrupt";
  private static final int QUEUE = 2;
  private static final long LONGEST_WAIT_NANOS = 10_000_000_000L;
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  private final HttpClient http = HttpClient.newHttpClient();
  private PipelaneServer server;
  private InferenceClient client;
  private List<Tensor> goodInputs;
  private List<Tensor> goodAnswer;
  private Ledger before;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    Path repository = folder.resolve("repository");
    DemoRepository.write(repository, EnumSet.of(DemoModel.PPOCR_CLS, DemoModel.PPOCR_REC));
    NoopModel.write(repository);
    Path corrupt = Files.createDirectories(repository.resolve(CORRUPT_MODEL).resolve("1"));
    Files.writeString(corrupt.resolve("model.onnx"), "no protobuf");
    server =
        PipelaneServer.start(
            PipelaneConfig.of(
                Map.of(
                    "repository.path", repository.toString(),
                    "repository.cache", SharedCache.folder().toString(),
                    "device.memory", "2MiB",
                    "device.page-size", "64KiB",
                    "device.lanes", "1",
                    "link.bandwidth", "1MB/s",
                    "queue.max-requests", Integer.toString(QUEUE),
                    "server.max-request-size", "1MiB",
                    "server.http-port", "0")));
    server.imports().get(2, TimeUnit.MINUTES);
    client = new InferenceClient(URI.create(server.url()));
    try (Questions questions = new Questions()) {
      goodInputs = questions.page().forDirection(false);
    }
    goodAnswer = client.infer(GOOD_MODEL, goodInputs);
  }

  @AfterAll
  void stop() {
    client.close();
    http.close();
    server.close();
  }

  @BeforeEach
  void remember() {
    before = ledgerOnce(Ledger::isQuiet);
  }

  @AfterEach
  void checkThatAllIsAsBefore() throws Exception {
    List<Tensor> answer = client.infer(GOOD_MODEL, goodInputs);

    assertEquals(List.of(answer.getFirst().data()), List.of(goodAnswer.getFirst().data()));
    server.switcher().verify();
    assertEquals(before, ledgerOnce(before::equals));
  }

  /** The ledger once it has settled, or a late one: a run gives back behind its answer. */
  private Ledger ledgerOnce(Predicate<Ledger> settled) {
    long begin = System.nanoTime();
    Ledger ledger = ledger();
    while (!settled.test(ledger) && System.nanoTime() - begin < LONGEST_WAIT_NANOS) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      ledger = ledger();
    }
    return ledger;
  }

  private Ledger ledger() {
    return server.switcher().memory().weights();
  }

  /** The columns: what is wrong, status, a part of the message, the request's JSON. */
  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "wrong name     | 400 | z       | {'inputs':[{'name':'z','datatype':'FP32','shape':[1,4],'data':[1,2,3,4]}]}",
        "wrong type     | 400 | FP32    | {'inputs':[{'name':'x','datatype':'INT64','shape':[1,4],'data':[1,2,3,4]}]}",
        "unknown type   | 400 | FP33    | {'inputs':[{'name':'x','datatype':'FP33','shape':[1,4],'data':[1,2,3,4]}]}",
        "wrong rank     | 400 | [1,4]   | {'inputs':[{'name':'x','datatype':'FP32','shape':[4],'data':[1,2,3,4]}]}",
        "wrong shape    | 400 | [1,4]   | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,3],'data':[1,2,3]}]}",
        "too few        | 400 | x       | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,4],'data':[1,2,3]}]}",
        "too many       | 400 | x       | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,4],'data':[1,2,3,4,5]}]}",
        "missing input  | 400 | x       | {'inputs':[]}",
        "surplus input  | 400 | y       | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,4],'data':[1,2,3,4]},{'name':'y','datatype':'FP32','shape':[1],'data':[1]}]}",
        "unknown output | 400 | q       | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,4],'data':[1,2,3,4]}],'outputs':[{'name':'q'}]}",
        "malformed JSON | 400 | JSON    | {'inputs':[{'name':'x',",
        "empty body     | 400 |         | ``",
        "overflow       | 400 | x       | {'inputs':[{'name':'x','datatype':'FP32','shape':[4294967296,4294967296],'data':[1]}]}",
        "negative shape | 400 | shape   | {'inputs':[{'name':'x','datatype':'FP32','shape':[-1,4],'data':[1,2,3,4]}]}",
        "no number      | 400 | x       | {'inputs':[{'name':'x','datatype':'FP32','shape':[1,4],'data':[1,2,3,'four']}]}",
      })
  void shouldNameTheFaultOfARequest(String fault, int status, String message, String json)
      throws Exception {
    HttpResponse<String> response = infer(NoopModel.NAME, json.replace('\'', '"'));

    assertRefused(status, message == null ? "" : message, response);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "unknown model, POST, /v2/models/nobody/infer, 404, nobody",
    "unknown version, POST, /v2/models/noop/versions/7/infer, 404, 7",
    "version that is neither number nor label, POST, /v2/models/noop/versions/one/infer, 404, one",
    "corrupt model, POST, /v2/models/corrupt/infer, 404, corrupt",
    "model that never fits, POST, /v2/models/ppocr-v4-rec/infer, 507, ppocr-v4-rec",
    "wrong method, GET, /v2/models/noop/infer, 405, POST",
    "wrong method for metadata, DELETE, /v2/models/noop, 405, GET",
    "unknown path, GET, /v3, 404, ''",
  })
  void shouldRefuseWhatCannotBeAsked(
      String fault, String method, String path, int status, String message) throws Exception {
    HttpResponse<String> response =
        http.send(
            HttpRequest.newBuilder(URI.create(server.url() + path))
                .method(method, BodyPublishers.ofString("{\"inputs\":[]}"))
                .build(),
            BodyHandlers.ofString());

    assertRefused(status, message, response);
  }

  @ParameterizedTest
  @CsvSource({"100000, 'Inference-Header-Content-Length'", "-1, ''", "0x10, ''", "5, ''"})
  void shouldRefuseABinaryHeaderOutOfRange(String length, String message) throws Exception {
    BinaryBody body = InferenceMessages.binaryRequest(NoopModel.inputs());

    assertRefused(400, message, inferBinary(length, body.bytes()));
  }

  @Test
  void shouldRefuseSurplusAndMissingBytesOfATensor() throws Exception {
    BinaryBody body = InferenceMessages.binaryRequest(NoopModel.inputs());
    String length = Integer.toString(body.jsonLength());
    int bytes = body.bytes().length;

    assertRefused(
        400, "binary_data_size", inferBinary(length, Arrays.copyOf(body.bytes(), bytes - 1)));
    assertRefused(
        400, "binary_data_size", inferBinary(length, Arrays.copyOf(body.bytes(), bytes + 1)));
  }

  @Test
  void shouldRefuseABodyBeyondTheLimit() throws Exception {
    assertRefused(413, "1048576", infer(NoopModel.NAME, " ".repeat((1 << 20) + 1)));
  }

  @Test
  void shouldListRefusedModelsWithTheReason() throws Exception {
    List<InferenceClient.IndexEntry> refused =
        client.index().stream().filter(entry -> entry.state().equals("UNAVAILABLE")).toList();

    assertEquals(
        List.of(CORRUPT_MODEL, LARGE_MODEL),
        refused.stream().map(InferenceClient.IndexEntry::name).toList());
    refused.forEach(entry -> assertFalse(entry.reason().isBlank(), entry.toString()));
  }

  /** Requests find the only lane waiting for weights over a slow link. */
  @Test
  void shouldTurnRequestsAwayWhenTheQueueIsFull() throws Exception {
    server.switcher().evict(new ModelVersion(GOOD_MODEL, 1));
    BinaryBody body = InferenceMessages.binaryRequest(goodInputs);
    List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
    for (int i = 0; i < 8 + QUEUE; i++) {
      responses.add(
          http.sendAsync(
              request(GOOD_MODEL)
                  .header(InferenceMessages.JSON_LENGTH_HEADER, Integer.toString(body.jsonLength()))
                  .POST(BodyPublishers.ofByteArray(body.bytes()))
                  .build(),
              BodyHandlers.ofString()));
    }

    int answered = 0;
    for (CompletableFuture<HttpResponse<String>> pending : responses) {
      HttpResponse<String> response = pending.get(30, TimeUnit.SECONDS);
      if (response.statusCode() == 200) {
        answered++;
      } else {
        assertRefused(503, Integer.toString(QUEUE), response);
        assertTrue(response.headers().firstValueAsLong("Retry-After").orElse(0) > 0);
      }
    }
    assertTrue(answered >= 1 && answered < responses.size(), answered + " answered");
  }

  private static void assertRefused(int status, String message, HttpResponse<String> response) {
    assertEquals(status, response.statusCode(), response.body());
    assertTrue(response.body().contains("\"error\""), response.body());
    assertTrue(response.body().contains(message), response.body());
  }

  private HttpResponse<String> infer(String model, String body) throws Exception {
    return http.send(
        request(model).POST(BodyPublishers.ofString(body)).build(), BodyHandlers.ofString());
  }

  private HttpResponse<String> inferBinary(String jsonLength, byte[] body) throws Exception {
    return http.send(
        request(NoopModel.NAME)
            .header(InferenceMessages.JSON_LENGTH_HEADER, jsonLength)
            .POST(BodyPublishers.ofByteArray(body))
            .build(),
        BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String model) {
    return HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/" + model + "/infer"));
  }
}
