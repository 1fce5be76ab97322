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
    return new ModelRequests(model, modelPath(model) + "/infer", variants);
  }

  /** Requests to DJL Serving's own route. */
  public static ModelRequests prediction(String model, List<PreparedRequest> variants) {
    return new ModelRequests(model, "/predictions/" + encoded(model), variants);
  }

  /** Where the protocol keeps a model. */
  public static String modelPath(String model) {
    return "/v2/models/" + encoded(model);
  }

  private static String encoded(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
