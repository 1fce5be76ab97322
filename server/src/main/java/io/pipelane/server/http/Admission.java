package io.pipelane.server.http;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Demand;
import io.pipelane.server.http.message.BodyLimit;
import io.pipelane.server.http.message.ForeignPages;
import io.pipelane.server.http.message.RequestHead;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.http.message.UriPath;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The decision, from a request's head, whether its body is wanted. Belongs to one connection. */
final class Admission {
  private static final AsciiString API_KEY = AsciiString.cached("X-API-Key");

  /** A name or an address in brackets, then a port, as RFC 3986 has them. */
  private static final Pattern HOST =
      Pattern.compile("(\\[[0-9A-Za-z:.%]+]|[0-9A-Za-z\\-._~%!$&'()*+,;=]*)(:[0-9]*)?");

  private final AccessControl access;
  private final ServedPort port;
  private final ForeignPages foreign;
  private final int maxRequestBytes;
  private @Nullable Asked latest;

  /** A host that requests may be for. */
  private @Nullable String knownHost;

  /**
   * @param port which port the connection has come to
   * @param foreign pages whose requests are not wanted
   * @param maxRequestBytes largest body
   */
  Admission(AccessControl access, ServedPort port, ForeignPages foreign, int maxRequestBytes) {
    this.access = access;
    this.port = port;
    this.foreign = foreign;
    this.maxRequestBytes = maxRequestBytes;
  }

  /** A path and a method with what they ask for: clients ask for the same again and again. */
  private record Asked(String target, HttpMethod method, Resource resource, Optional<Terms> terms) {
    static Asked of(RequestHead head, int maxRequestBytes) {
      Resource resource = ResourcePaths.find(head.target());
      return new Asked(
          head.target(),
          head.method(),
          resource,
          resource.route(head.method()).map(route -> Terms.of(route, maxRequestBytes)));
    }

    boolean isBy(RequestHead head) {
      return target.equals(head.target()) && method.equals(head.method());
    }
  }

  /** The terms on which a route is followed. */
  private record Terms(Route route, Demand demand, BodyLimit limit) {
    static Terms of(Route route, int maxRequestBytes) {
      return new Terms(route, route.demand(), BodyLimit.of(route, maxRequestBytes));
    }
  }

  /** The outcome of a decision. */
  sealed interface Verdict {}

  /**
   * The verdict that the body is wanted; the request is under way for its caller, until {@link
   * Caller#end}.
   */
  record Admitted(Route route, Caller caller, BodyLimit limit) implements Verdict {}

  /**
   * The verdict that the body is not wanted.
   *
   * @param keeps whether the connection may go on once a short body has passed by
   */
  record Refused(Response response, boolean keeps) implements Verdict {}

  Verdict judge(RequestHead head, ByteBufAllocator allocator) {
    try {
      checkPage(head);
      Asked asked = asked(head);
      if (asked.terms().isEmpty()) {
        return new Refused(Response.methodNotAllowed(allocator, asked.resource().allowed()), true);
      }
      Terms terms = asked.terms().get();
      if (head.expectation() != null && !head.expectsContinue()) {
        return new Refused(
            Response.error(
                HttpResponseStatus.EXPECTATION_FAILED,
                allocator,
                "Expect \"" + UriPath.shorten(head.expectation()) + "\" is not understood"),
            false);
      }
      String transferCoding = head.unknownTransferCoding();
      if (transferCoding != null) {
        return new Refused(
            Response.error(
                HttpResponseStatus.NOT_IMPLEMENTED,
                allocator,
                "Transfer-Encoding \"%s\" is not served; send \"chunked\", and Content-Encoding"
                    .formatted(UriPath.shorten(transferCoding))),
            false);
      }
      String unknownEncoding = head.unknownEncoding();
      if (unknownEncoding != null) {
        return new Refused(Response.encodingUnknown(allocator, unknownEncoding), true);
      }
      Caller caller = caller(terms.demand(), head);
      if (!(terms.route() instanceof Route.Upload)) {
        terms.limit().check(head);
      } else if (head.compression() != null) {
        throw new StatusException(
            Status.UNIMPLEMENTED, "an upload is stored as it is; send it without Content-Encoding");
      }
      caller.begin();
      return new Admitted(terms.route(), caller, terms.limit());
    } catch (StatusException e) {
      return new Refused(Response.error(e, allocator), true);
    }
  }

  private void checkPage(RequestHead head) {
    head.checkHosts();
    String host = head.host();
    if (host != null && !host.equals(knownHost)) {
      if (!HOST.matcher(host).matches()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "Host \"%s\" is not a host and perhaps a port; send one such as \"localhost:8000\""
                .formatted(UriPath.shorten(host)));
      }
      foreign.checkHost(host);
      knownHost = host;
    }
    foreign.checkOrigin(head.method(), head.headers(), host);
  }

  /** Who asks; everybody for what is public. */
  private Caller caller(Demand demand, RequestHead head) {
    port.check(demand, access);
    if (demand.isPublic()) {
      return Caller.ANYBODY;
    }
    return caller(access, demand, head.headers());
  }

  /**
   * Who asks for what is not public.
   *
   * @throws StatusException when that cannot be told, or he may not
   */
  static Caller caller(AccessControl access, Demand demand, HttpHeaders headers) {
    Caller caller =
        access.identify(headers.get(HttpHeaderNames.AUTHORIZATION), headers.get(API_KEY));
    caller.check(demand);
    return caller;
  }

  private Asked asked(RequestHead head) {
    Asked asked = latest;
    if (asked == null || !asked.isBy(head)) {
      asked = Asked.of(head, maxRequestBytes);
      latest = asked;
    }
    return asked;
  }
}
