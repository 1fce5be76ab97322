package io.pipelane.loadgen.server;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.settings.ModelRequests;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Asks a server about itself and its models, beside the load. */
public final class ServerClient implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();
  private final String url;

  /** Prepares to ask the server at an {@code http} address. */
  public ServerClient(URI url) {
    this.url = url.toString().replaceAll("/+$", "");
  }

  /**
   * Asks for one model's inputs.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be asked, {@link
   *     Status#NOT_FOUND} when it knows no such model, {@link Status#INTERNAL} when its answer
   *     makes no sense
   */
  public ModelMetadata model(String name) throws InterruptedException {
    String path = ModelRequests.modelPath(name);
    HttpResponse<String> response = send(get(path));
    if (response.statusCode() != 200) {
      throw new StatusException(
          response.statusCode() == 404 ? Status.NOT_FOUND : Status.UNAVAILABLE,
          "%s%s answers %d: %s".formatted(url, path, response.statusCode(), response.body()));
    }
    try {
      return ServerAnswers.metadata(name, json.readTree(response.body()));
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw nonsense(path, "model metadata", e);
    }
  }

  /**
   * Asks for the models that are ready, by the repository extension, in the order of their names.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} when the server has no index
   */
  public List<String> readyModels() throws InterruptedException {
    String path = "/v2/repository/index";
    HttpResponse<String> response =
        send(
            HttpRequest.newBuilder(URI.create(url + path))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"ready\":true}")));
    if (response.statusCode() != 200) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "%s%s answers %d; name the models with --model"
              .formatted(url, path, response.statusCode()));
    }
    try {
      return ServerAnswers.readyModels(json.readTree(response.body()));
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw nonsense(path, "index", e);
    }
  }

  /** Asks what the server is; it need not say. */
  public ServerDescription description() throws InterruptedException {
    return tree("/v2").map(ServerAnswers::description).orElse(ServerDescription.UNKNOWN);
  }

  /** Asks what a model's requests were spent on; empty where the server does not count that. */
  public Optional<ModelStatistics> statistics(String model) throws InterruptedException {
    return tree(ModelRequests.modelPath(model) + "/stats").map(ServerAnswers::statistics);
  }

  @Override
  public void close() {
    client.close();
  }

  private Optional<JsonNode> tree(String path) throws InterruptedException {
    try {
      HttpResponse<String> response = send(get(path));
      return response.statusCode() == 200
          ? Optional.of(json.readTree(response.body()))
          : Optional.empty();
    } catch (StatusException | JsonProcessingException e) {
      return Optional.empty();
    }
  }

  private HttpRequest.Builder get(String path) {
    return HttpRequest.newBuilder(URI.create(url + path));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws InterruptedException {
    HttpRequest asked = request.timeout(TIMEOUT).build();
    try {
      return client.send(asked, BodyHandlers.ofString());
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "cannot ask " + asked.uri() + ": " + e + "; does the server run?", e);
    }
  }

  private StatusException nonsense(String path, String expected, Exception cause) {
    return new StatusException(
        Status.INTERNAL, url + path + " answers no " + expected + ": " + cause.getMessage(), cause);
  }
}
