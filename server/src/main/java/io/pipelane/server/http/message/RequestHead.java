package io.pipelane.server.http.message;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request's head that the server heeds.
 *
 * @param target path and query
 * @param host that the request is for; null where it does not say
 * @param contentLength -1 where the head gives none
 * @param isOld whether it is of HTTP/1.0, which knows neither hosts nor expectations, and whose
 *     connections stay open only where both sides say so
 * @param expectation what it says after {@code Expect}, null where nothing
 * @param encoding of the body, null where nothing is said
 */
public record RequestHead(
    HttpMethod method,
    String target,
    @Nullable String host,
    HttpHeaders headers,
    long contentLength,
    boolean isChunked,
    boolean keepsAlive,
    boolean isOld,
    @Nullable String expectation,
    @Nullable String encoding) {
  private static final String ZIP = "application/zip";

  public static RequestHead of(HttpRequest request) {
    HttpHeaders headers = request.headers();
    String length = headers.get(HttpHeaderNames.CONTENT_LENGTH);
    boolean keepsAlive = HttpUtil.isKeepAlive(request);
    boolean old = request.protocolVersion().equals(HttpVersion.HTTP_1_0);
    RequestTarget target = RequestTarget.of(request.uri());
    return new RequestHead(
        request.method(),
        target.path(),
        target.authority() == null ? headers.get(HttpHeaderNames.HOST) : target.authority(),
        headers,
        length == null || request.decoderResult().isFailure() ? -1 : parseLength(length),
        HttpUtil.isTransferEncodingChunked(request),
        keepsAlive,
        old,
        old ? null : headers.get(HttpHeaderNames.EXPECT),
        FieldLines.joined(headers, HttpHeaderNames.CONTENT_ENCODING));
  }

  public boolean isHead() {
    return method.equals(HttpMethod.HEAD);
  }

  /** Whether the client wants to be told that the connection stays open. */
  public boolean statesKeepAlive() {
    return isOld && keepsAlive;
  }

  /**
   * Checks that it names one host, as RFC 9112 demands in section 3.2: where it names several, who
   * looks at one may miss the other.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it does not
   */
  public void checkHosts() {
    Iterator<String> hosts = headers.valueStringIterator(HttpHeaderNames.HOST);
    if (hosts.hasNext()) {
      hosts.next();
    } else if (!isOld) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "the request has no Host field; send one, such as \"Host: localhost\" (:authority in"
              + " HTTP/2)");
    }
    if (hosts.hasNext()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "the request has several Host fields; send one");
    }
  }

  /** Whether the body is said to be a ZIP file. */
  public boolean isZip() {
    String type = headers.get(HttpHeaderNames.CONTENT_TYPE);
    return type != null && type.strip().regionMatches(true, 0, ZIP, 0, ZIP.length());
  }

  public boolean expectsContinue() {
    return expectation != null && HttpHeaderValues.CONTINUE.contentEqualsIgnoreCase(expectation);
  }

  /** The coding of the body if it is one that is served. */
  public @Nullable Compression compression() {
    return encoding == null ? null : Compression.ofContent(encoding);
  }

  /** The coding of the body if it is one that is not served. */
  public @Nullable String unknownEncoding() {
    return encoding != null
            && !HttpHeaderValues.IDENTITY.contentEqualsIgnoreCase(encoding)
            && Compression.ofContent(encoding) == null
        ? encoding
        : null;
  }

  /** How the body is wrapped if that is not by chunks alone. */
  public @Nullable String unknownTransferCoding() {
    String coding = FieldLines.joined(headers, HttpHeaderNames.TRANSFER_ENCODING);
    boolean isKnown =
        coding == null
            || coding.isEmpty()
            || HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(coding.strip());
    return isKnown ? null : coding;
  }

  /** The coding in which the client likes its answer; null for none. */
  public @Nullable Compression acceptedCompression() {
    String accepted = headers.get(HttpHeaderNames.ACCEPT_ENCODING);
    return accepted == null ? null : Compression.accepted(accepted);
  }

  private static long parseLength(String length) {
    try {
      return Long.parseLong(length);
    } catch (NumberFormatException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "Content-Length \"" + UriPath.shorten(length) + "\" is not a number",
          e);
    }
  }
}
