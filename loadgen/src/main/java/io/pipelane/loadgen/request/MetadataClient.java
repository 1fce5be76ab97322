package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.settings.ModelRequests;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Asks a server what its models expect. */
public final class MetadataClient implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();
  private final String url;

  /** Prepares to ask the server at an {@code http} address. */
  public MetadataClient(URI url) {
    this.url = url.toString().replaceAll("/+$", "");
  }

  /**
   * Asks for one model.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when the server cannot be asked, {@link
   *     Status#NOT_FOUND} when it knows no such model, {@link Status#INTERNAL} when its answer
   *     makes no sense
   */
  public ModelMetadata model(String name) throws InterruptedException {
    URI address = URI.create(url + ModelRequests.modelPath(name));
    HttpResponse<String> response;
    try {
      response =
          client.send(
              HttpRequest.newBuilder(address).timeout(TIMEOUT).build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "cannot ask " + address + ": " + e + "; does the server run?", e);
    }
    if (response.statusCode() != 200) {
      throw new StatusException(
          response.statusCode() == 404 ? Status.NOT_FOUND : Status.UNAVAILABLE,
          "%s answers %d: %s".formatted(address, response.statusCode(), response.body()));
    }
    try {
      return metadata(name, json.readTree(response.body()));
    } catch (JsonProcessingException | IllegalArgumentException e) {
      throw new StatusException(
          Status.INTERNAL, address + " answers no model metadata: " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    client.close();
  }

  private static ModelMetadata metadata(String name, JsonNode answer) {
    List<TensorMetadata> inputs = new ArrayList<>();
    for (JsonNode input : member(answer, "inputs")) {
      List<Long> shape = new ArrayList<>();
      member(input, "shape").forEach(dimension -> shape.add(dimension.asLong()));
      inputs.add(
          new TensorMetadata(
              member(input, "name").asText(), member(input, "datatype").asText(), shape));
    }
    return new ModelMetadata(name, inputs);
  }

  private static JsonNode member(JsonNode node, String name) {
    JsonNode member = node.get(name);
    if (member == null) {
      throw new IllegalArgumentException("\"" + name + "\" is missing");
    }
    return member;
  }
}
