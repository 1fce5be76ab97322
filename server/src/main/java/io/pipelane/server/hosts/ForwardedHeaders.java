package io.pipelane.server.hosts;

import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The head of a forwarded request: what the client said, credentials included. */
public final class ForwardedHeaders {
  /** Marks a request that another host has forwarded, and names that host. */
  public static final String MARK = "Pipelane-Forwarded";

  /**
   * How long the client has been waiting before a request was forwarded, in microseconds: its
   * timeout goes by the host that it has asked. Heeded only of a known host.
   */
  static final String WAITED = "Pipelane-Waited-Us";

  /**
   * Says of an error that no run of the request has begun, so that another host may be asked. Only
   * hosts are told it.
   */
  public static final String NOT_RUN = "Pipelane-Not-Run";

  private static final Pattern MICROS = Pattern.compile("[0-9]{1,15}");
  private static final String HTTP2_EXTENSIONS = "x-http2-";

  /**
   * Of one connection (RFC 9110, section 7.6.1), or of the way the body is sent. Answers are
   * compressed by the host that has the client, which also knows whether a page may ask it.
   */
  private static final Set<String> OWN =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "proxy-authenticate",
          "proxy-authorization",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "http2-settings",
          "expect",
          "host",
          "content-length",
          "accept-encoding",
          "origin",
          "sec-fetch-site");

  private ForwardedHeaders() {}

  /** How long the client of a request had been waiting, as who forwarded it says; else 0. */
  static long waitedNanos(HttpHeaders headers) {
    String micros = headers.contains(MARK) ? headers.get(WAITED) : null;
    return micros != null && MICROS.matcher(micros).matches()
        ? TimeUnit.MICROSECONDS.toNanos(Long.parseLong(micros))
        : 0;
  }

  static HttpHeaders of(Forward.Request request, HostAddress to, String own) {
    HttpHeaders client = request.headers();
    HttpHeaders headers = DefaultHttpHeadersFactory.headersFactory().newHeaders();
    Set<String> named = named(client);
    for (Iterator<Map.Entry<CharSequence, CharSequence>> all = client.iteratorCharSequence();
        all.hasNext(); ) {
      Map.Entry<CharSequence, CharSequence> field = all.next();
      String name = field.getKey().toString().toLowerCase(Locale.ROOT);
      if (!OWN.contains(name) && !named.contains(name) && !name.startsWith(HTTP2_EXTENSIONS)) {
        headers.add(field.getKey(), field.getValue());
      }
    }
    headers.set(HttpHeaderNames.HOST, to.toString());
    headers.set(HttpHeaderNames.CONTENT_LENGTH, request.body().readableBytes());
    headers.set(MARK, own);
    headers.set(WAITED, TimeUnit.NANOSECONDS.toMicros(request.waitedNanos()));
    return headers;
  }

  /** Fields that the client says are for this connection alone. */
  private static Set<String> named(HttpHeaders client) {
    Set<String> named = new HashSet<>();
    for (String value : client.getAll(HttpHeaderNames.CONNECTION)) {
      for (String name : value.split(",", -1)) {
        named.add(name.strip().toLowerCase(Locale.ROOT));
      }
    }
    return named;
  }
}
