package io.pipelane.loadgen.server;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.loadgen.file.JsonComplaint;
import io.pipelane.loadgen.network.TrustManagers;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.result.ServerText;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.Span;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.UnresolvedAddressException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/** A client that asks by the protocol's HTTP routes. */
public final class HttpServerClient implements ServerClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final ByteSize MAXIMUM_ANSWER = ByteSize.ofMebibytes(16);

  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient client;
  private final String url;
  private final Map<String, String> headers;
  private final Duration timeout;

  /** Prepares to ask a server at an HTTP address. */
  public HttpServerClient(Endpoint endpoint) {
    this(endpoint, TIMEOUT);
  }

  /**
   * @param timeout for each answer, down to its last byte
   */
  HttpServerClient(Endpoint endpoint, Duration timeout) {
    this.timeout = timeout;
    this.url = endpoint.url().toString().replaceAll("/+$", "");
    this.headers = endpoint.headers();
    HttpClient.Builder builder =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout);
    if (endpoint.isSecured()) {
      builder.sslContext(security(endpoint));
    }
    this.client = builder.build();
  }

  private static SSLContext security(Endpoint endpoint) {
    try {
      SSLContext security = SSLContext.getInstance("TLS");
      TrustManager judge = TrustManagers.of(endpoint.trust());
      security.init(null, new TrustManager[] {judge}, null);
      return security;
    } catch (GeneralSecurityException e) {
      throw new StatusException(Status.INTERNAL, "cannot set up TLS: " + e, e);
    }
  }

  @Override
  public ModelMetadata model(String name, String version) throws InterruptedException {
    String path = ModelRequests.modelPath(name, version);
    HttpResponse<String> response = send(get(path));
    if (response.statusCode() != 200) {
      throw new StatusException(
          response.statusCode() == 404 ? Status.NOT_FOUND : Status.UNAVAILABLE,
          "%s%s answers %d: %s"
              .formatted(url, path, response.statusCode(), ServerText.of(response.body())));
    }
    try {
      return ServerAnswers.metadata(name, version, json.readTree(response.body()));
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw nonsense(path, "model metadata", e);
    }
  }

  @Override
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

  @Override
  public ServerDescription description() throws InterruptedException {
    return tree("/v2").map(ServerAnswers::description).orElse(ServerDescription.UNKNOWN);
  }

  @Override
  public Optional<ModelStatistics> statistics(String model) throws InterruptedException {
    return tree(ModelRequests.modelPath(model, "") + "/stats").flatMap(ServerAnswers::statistics);
  }

  @Override
  public void close() {
    client.shutdownNow();
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
    headers.forEach(request::setHeader);
    HttpRequest asked = request.build();
    CompletableFuture<HttpResponse<String>> answer =
        client.sendAsync(
            asked, BodyHandlers.limiting(BodyHandlers.ofString(), MAXIMUM_ANSWER.bytes()));
    try {
      return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
      throw unavailable(asked, words(cause), cause);
    } catch (TimeoutException e) {
      throw unavailable(asked, "no whole answer within " + Span.seconds(timeout), e);
    } finally {
      answer.cancel(true);
    }
  }

  private static String words(Throwable failure) {
    if (cause(failure, UnresolvedAddressException.class) != null) {
      return "nobody knows the name of the host";
    }
    @Nullable Throwable notTaken = cause(failure, ConnectException.class);
    if (notTaken == null) {
      return ServerText.of(failure.toString());
    }
    @Nullable String reason = notTaken.getMessage(); // None where the connection is refused.
    return "nobody takes the connection%s; does the server run?"
        .formatted(reason == null ? "" : " (" + reason + ")");
  }

  private static @Nullable Throwable cause(Throwable failure, Class<? extends Throwable> kind) {
    @Nullable Throwable cause = failure;
    while (cause != null && !kind.isInstance(cause)) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static StatusException unavailable(HttpRequest asked, String why, Throwable cause) {
    return new StatusException(Status.UNAVAILABLE, "cannot ask " + asked.uri() + ": " + why, cause);
  }

  private StatusException nonsense(String path, String expected, Exception cause) {
    return new StatusException(
        Status.INTERNAL,
        url + path + " answers no " + expected + ": " + JsonComplaint.of(cause),
        cause);
  }
}
