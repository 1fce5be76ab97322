package io.pipelane.server.http;

import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.http.message.UriPath;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The files of the web page. They come from here alone, run no script but their own, and lie in no
 * other page's frame.
 */
final class WebPage {
  /** What the root answers with. */
  static final String INDEX = "index.html";

  static final List<String> FILES =
      List.of(
          INDEX,
          "icon.svg",
          "page.css",
          "devices.js",
          "dom.js",
          "feed.js",
          "format.js",
          "jobs.js",
          "json.js",
          "main.js",
          "models.js",
          "rates.js",
          "request.js",
          "row.js",
          "squares.js",
          "tiles.js",
          "workers.js");

  private static final List<String> FIELDS =
      List.of(
          "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"
              + " img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
              + " frame-ancestors 'none'",
          "X-Content-Type-Options: nosniff",
          "Referrer-Policy: no-referrer",
          "Cache-Control: no-cache");

  private final Map<String, byte[]> files = new HashMap<>();

  /** Reads all files; later none is read. */
  WebPage() {
    for (String name : FILES) {
      try (InputStream stream = WebPage.class.getResourceAsStream("page/" + name)) {
        if (stream == null) {
          throw new IllegalStateException("the page's file " + name + " is missing");
        }
        files.put(name, stream.readAllBytes());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /**
   * Answers with a file.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when the page has no such file
   */
  void answer(Exchange exchange, String name) {
    byte[] file = files.get(name);
    if (file == null) {
      throw new StatusException(
          Status.NOT_FOUND, "the page has no file " + UriPath.shorten(name) + "; it begins at /");
    }
    exchange.answer(
        Response.of(
            HttpResponseStatus.OK,
            content(name),
            FIELDS,
            exchange.allocator(),
            body -> body.writeBytes(file)));
  }

  private static Content content(String name) {
    return switch (name.substring(name.lastIndexOf('.') + 1)) {
      case "html" -> Content.PAGE;
      case "css" -> Content.STYLE;
      case "svg" -> Content.IMAGE;
      default -> Content.SCRIPT;
    };
  }
}
