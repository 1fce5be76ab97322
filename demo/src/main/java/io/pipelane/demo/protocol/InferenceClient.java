package io.pipelane.demo.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.demo.protocol.InferenceMessages.BinaryBody;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A client of any server that speaks the Open Inference Protocol over HTTP. Safe for any thread.
 */
public final class InferenceClient implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final URI server;
  private final HttpClient http;

  /** A client of the server at a base address such as {@code http://127.0.0.1:8000}. */
  public InferenceClient(URI server) {
    this.server = server;
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();
  }

  /**
   * A model version in the server's index.
   *
   * @param state READY, LOADING, UNLOADING or UNAVAILABLE; empty when it was never loaded
   * @param reason why it is not READY; empty otherwise
   */
  public record IndexEntry(String name, String version, String state, String reason) {}

  /** Every model version that the server knows. */
  public List<IndexEntry> index() throws IOException, InterruptedException {
    byte[] body =
        send(HttpRequest.newBuilder(server.resolve("/v2/repository/index"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{}")))
            .body();
    List<IndexEntry> entries = new ArrayList<>();
    for (JsonNode entry : JSON.readTree(body)) {
      entries.add(
          new IndexEntry(
              entry.path("name").asText(),
              entry.path("version").asText(),
              entry.path("state").asText(),
              entry.path("reason").asText()));
    }
    return entries;
  }

  /**
   * Asks the highest version of a model; tensors travel as bytes both ways.
   *
   * @return every output, in the server's order
   * @throws IOException when the server cannot be reached or answers with an error, which the
   *     message then holds
   */
  public List<Tensor> infer(String model, List<Tensor> inputs)
      throws IOException, InterruptedException {
    return infer(model, inputs, Map.of());
  }

  /**
   * The same with further parameters.
   *
   * @param parameters numbers, texts and booleans, such as {@code sequence_id}
   */
  public List<Tensor> infer(String model, List<Tensor> inputs, Map<String, Object> parameters)
      throws IOException, InterruptedException {
    BinaryBody request = InferenceMessages.binaryRequest(inputs, parameters);
    HttpResponse<byte[]> response =
        send(
            HttpRequest.newBuilder(server.resolve("/v2/models/" + model + "/infer"))
                .header("Content-Type", "application/octet-stream")
                .header(
                    InferenceMessages.JSON_LENGTH_HEADER, Integer.toString(request.jsonLength()))
                .POST(HttpRequest.BodyPublishers.ofByteArray(request.bytes())));
    int jsonLength =
        Math.toIntExact(
            response
                .headers()
                .firstValueAsLong(InferenceMessages.JSON_LENGTH_HEADER)
                .orElseThrow(
                    () -> new IOException(model + ": the server did not answer with bytes")));
    return InferenceMessages.binaryOutputs(new BinaryBody(response.body(), jsonLength));
  }

  @Override
  public void close() {
    http.close();
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder builder)
      throws IOException, InterruptedException {
    HttpRequest request = builder.timeout(TIMEOUT).build();
    HttpResponse<byte[]> response = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (response.statusCode() != 200) {
      throw new IOException(
          "%s answered %d: %s"
              .formatted(
                  request.uri(),
                  response.statusCode(),
                  new String(response.body(), StandardCharsets.UTF_8)));
    }
    return response;
  }
}
