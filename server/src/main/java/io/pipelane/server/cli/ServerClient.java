package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Sha256;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** A client that asks a running server over the Open Inference Protocol, in JSON. */
final class ServerClient implements AutoCloseable {
  /** Numbers are kept as written: INT64 is exact, and floats are not rounded twice. */
  static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private static final long MAX_ANSWER_BYTES = 1L << 30;
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration ANSWER_TIMEOUT = Duration.ofMinutes(5);

  /** Of what may import a model, or wait for the requests that run. */
  private static final Duration CHANGE_TIMEOUT = Duration.ofHours(1);

  /** What a field of seconds says; it may be a date instead. */
  private static final Predicate<String> SECONDS = Pattern.compile("[0-9]{1,9}").asMatchPredicate();

  private final HttpClient http;
  private final URI server;
  private final @Nullable String key;

  /**
   * @param tls whose certificates are accepted; null for those that the JDK's authorities signed
   * @param key sent along with every request; null for none
   */
  ServerClient(URI server, @Nullable SSLContext tls, @Nullable String key) {
    this.server = server;
    this.key = key;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .connectTimeout(CONNECT_TIMEOUT)
            .version(HttpClient.Version.HTTP_1_1);
    this.http = tls == null ? builder.build() : builder.sslContext(tls).build();
  }

  /**
   * Fetches a resource.
   *
   * @param path segments below the server's address; each is escaped
   * @throws StatusException when no server answers, or it answers an error
   */
  JsonNode get(String... path) {
    return send(HttpRequest.newBuilder(resolve(path)).GET());
  }

  /** Fetches what is no JSON; otherwise like {@link #get}. */
  byte[] bytes(String... path) {
    return exchange(HttpRequest.newBuilder(resolve(path)).GET(), ANSWER_TIMEOUT);
  }

  /** Posts JSON; otherwise like {@link #get}. */
  JsonNode post(JsonNode body, String... path) {
    return send(posted(body, path), ANSWER_TIMEOUT);
  }

  /** Posts what a server may work at for long, as imports are; otherwise like {@link #post}. */
  JsonNode change(JsonNode body, String... path) {
    return send(posted(body, path), CHANGE_TIMEOUT);
  }

  private HttpRequest.Builder posted(JsonNode body, String... path) {
    return HttpRequest.newBuilder(resolve(path))
        .header("Content-Type", "application/json")
        .POST(BodyPublishers.ofString(body.toString()));
  }

  /** Deletes a resource, when the requests that run with it have ended; otherwise like get. */
  JsonNode delete(String... path) {
    return send(HttpRequest.newBuilder(resolve(path)).DELETE(), CHANGE_TIMEOUT);
  }

  /**
   * Puts a file where a path says, with its digest; otherwise like {@link #get}.
   *
   * @param sent told, on another thread, how many of its bytes have been sent
   * @throws IOException when the file cannot be read
   */
  JsonNode put(Path file, String contentType, LongConsumer sent, String... path)
      throws IOException {
    HttpRequest.BodyPublisher body =
        BodyPublishers.fromPublisher(
            BodyPublishers.ofInputStream(() -> CountedStream.open(file, sent)), Files.size(file));
    return send(
        HttpRequest.newBuilder(resolve(path))
            .header("Content-Type", contentType)
            .header("Content-Digest", "sha-256=:" + sha256(file) + ":")
            .PUT(body),
        CHANGE_TIMEOUT);
  }

  private static String sha256(Path file) throws IOException {
    try (InputStream stream = Files.newInputStream(file);
        DigestInputStream digested = new DigestInputStream(stream, Sha256.begin())) {
      digested.transferTo(OutputStream.nullOutputStream());
      return Base64.getEncoder().encodeToString(digested.getMessageDigest().digest());
    }
  }

  private URI resolve(String... path) {
    StringBuilder uri = new StringBuilder(server.toString().replaceAll("/+$", ""));
    for (String segment : path) {
      uri.append('/')
          .append(URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20"));
    }
    return URI.create(uri.toString());
  }

  private JsonNode send(HttpRequest.Builder builder) {
    return send(builder, ANSWER_TIMEOUT);
  }

  private JsonNode send(HttpRequest.Builder builder, Duration timeout) {
    try {
      return JSON.readTree(exchange(builder, timeout));
    } catch (IOException e) {
      throw new StatusException(
          Status.INTERNAL, server + " answered something that is not JSON", e);
    }
  }

  private byte[] exchange(HttpRequest.Builder builder, Duration timeout) {
    if (key != null) {
      builder.header("Authorization", "Bearer " + key);
    }
    HttpRequest request = builder.timeout(timeout).build();
    try {
      HttpResponse<byte[]> response =
          http.send(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MAX_ANSWER_BYTES));
      if (response.statusCode() / 100 != 2) {
        throw refused(response);
      }
      return response.body();
    } catch (ConnectException | HttpConnectTimeoutException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "no server answers at %s%s; start one with: pipelane serve --repository DIR"
              .formatted(server, e.getMessage() == null ? "" : " (" + e.getMessage() + ")"),
          e);
    } catch (HttpTimeoutException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          ("%s has not answered within %d min; the server goes on with what it has begun,"
                  + " and pipelane models tells what has come of it")
              .formatted(request.uri(), timeout.toMinutes()),
          e);
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, request.uri() + " failed: " + e + hint(request.uri(), e), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "interrupted", e);
    }
  }

  /** What a connection that just ends may mean; where TLS fails, its message says why. */
  private static String hint(URI uri, IOException error) {
    if (error instanceof SSLException) {
      return "";
    }
    return uri.getScheme().equals("https")
        ? "; the server may want a certificate (--cert and --key), or not speak TLS (http://)"
        : "; the server may speak TLS (https://), or another protocol at this port";
  }

  private static StatusException refused(HttpResponse<byte[]> response) {
    Status status =
        switch (response.statusCode()) {
          case 401 -> Status.UNAUTHENTICATED;
          case 403 -> Status.PERMISSION_DENIED;
          case 404 -> Status.NOT_FOUND;
          case 413 -> Status.TOO_LARGE;
          case 429 -> Status.RATE_LIMITED;
          case 501 -> Status.UNIMPLEMENTED;
          case 503 -> Status.UNAVAILABLE;
          case 507 -> Status.INSUFFICIENT_MEMORY;
          default -> response.statusCode() < 500 ? Status.INVALID_ARGUMENT : Status.INTERNAL;
        };
    String message =
        "the server answered " + response.statusCode() + ": " + reason(response.body());
    Optional<String> retryAfter = response.headers().firstValue("Retry-After");
    return status == Status.RATE_LIMITED && retryAfter.filter(SECONDS).isPresent()
        ? StatusException.rateLimited(message, Duration.ofSeconds(Long.parseLong(retryAfter.get())))
        : new StatusException(status, message);
  }

  private static String reason(byte[] body) {
    try {
      return JSON.readTree(body).path("error").asText("no reason given");
    } catch (IOException e) {
      return "no reason given";
    }
  }

  @Override
  public void close() {
    http.close();
  }
}
