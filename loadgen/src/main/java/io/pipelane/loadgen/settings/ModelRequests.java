package io.pipelane.loadgen.settings;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The requests that one model is asked; its variants take turns.
 *
 * @param model as results name it
 * @param path what is posted to, below the server's address
 */
public record ModelRequests(String model, String path, List<PreparedRequest> variants) {
  public ModelRequests {
    variants = List.copyOf(variants);
    if (variants.isEmpty()) {
      throw new IllegalArgumentException("model " + model + " has no request to send");
    }
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException("a path begins with a slash: " + path);
    }
  }

  /** Requests to the version that the server picks. */
  public static ModelRequests infer(String model, List<PreparedRequest> variants) {
    return infer(model, "", variants);
  }

  /** Requests to one version; an empty one leaves it to the server. */
  public static ModelRequests infer(String model, String version, List<PreparedRequest> variants) {
    return new ModelRequests(model, modelPath(model, version) + "/infer", variants);
  }

  /** Requests to DJL Serving's own route; an empty version leaves it to the server. */
  public static ModelRequests prediction(
      String model, String version, List<PreparedRequest> variants) {
    String path = "/predictions/" + encoded(model);
    return new ModelRequests(
        model, version.isEmpty() ? path : path + "/" + encoded(version), variants);
  }

  /** Where the protocol keeps a model, or one version of it if that is not empty. */
  public static String modelPath(String model, String version) {
    String path = "/v2/models/" + encoded(model);
    return version.isEmpty() ? path : path + "/versions/" + encoded(version);
  }

  private static String encoded(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
