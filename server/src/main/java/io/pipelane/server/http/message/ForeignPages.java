package io.pipelane.server.http.message;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The guard that keeps web pages of other sites from using a server through the browser of somebody
 * who can reach it. Safe for any thread.
 */
public final class ForeignPages {
  /*
   * A browser sends what any page has it send, whether or not that page may read the answer. It
   * says where the page is from: Sec-Fetch-Site to addresses that it trusts, Origin with all that
   * is neither GET nor HEAD. A page may read answers, too, once the name of its own server has come
   * to mean this one's address (DNS rebinding). Its requests then carry that name as their host. A
   * server on the loopback address, which nobody asks by such a name, refuses it.
   *
   * A proxy may change the host on the way, so that nothing in a request says any more that a page
   * is this server's own. Where the proxy speaks plain HTTP to browsers, not even they say so. So
   * who runs one can name the origins that browsers see. What proxies say of that in fields of
   * their own is not heeded: who they are would have to be said as well.
   *
   * Where a key is needed there is nothing to keep: a page of another site has none.
   */
  private static final AsciiString SITE = AsciiString.cached("sec-fetch-site");

  private final boolean isHeeded;
  private final boolean isLocal;
  private final Set<String> ownNames;
  private final Set<String> ownOrigins;

  /**
   * The pages that are foreign to a server.
   *
   * @param listensAt name or address that it is configured to listen at
   * @param origins of its own pages, beside that which a request's host makes
   * @param needsKey whether it answers nobody without a key
   */
  public ForeignPages(String listensAt, List<URI> origins, boolean needsKey) {
    isHeeded = !needsKey;
    InetAddress address = new InetSocketAddress(listensAt, 0).getAddress();
    isLocal = address != null && address.isLoopbackAddress();
    ownNames =
        Stream.concat(Stream.of(listensAt), origins.stream().map(URI::getHost))
            .map(name -> name.toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet());
    ownOrigins = origins.stream().map(ForeignPages::text).collect(Collectors.toUnmodifiableSet());
  }

  /** An origin as browsers write it (RFC 6454): without what is the scheme's own port. */
  private static String text(URI origin) {
    String scheme = origin.getScheme().toLowerCase(Locale.ROOT);
    int standard = scheme.equals("https") ? HttpScheme.HTTPS.port() : HttpScheme.HTTP.port();
    String host = scheme + "://" + origin.getHost().toLowerCase(Locale.ROOT);
    int port = origin.getPort();
    return port < 0 || port == standard ? host : host + ":" + port;
  }

  /**
   * Checks the host that a request is for; what was found well once stays so.
   *
   * @throws StatusException {@link Status#PERMISSION_DENIED} for a name that cannot be this
   *     server's
   */
  public void checkHost(String host) {
    if (isHeeded && isLocal && !isOwn(host)) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          "the request is for host \"%s\", which is no name of this server; ask for localhost or"
                  .formatted(UriPath.shorten(host))
              + " an address in numbers, set server.host or server.origins, or set"
              + " security.api-keys");
    }
  }

  /**
   * Checks where a request is from.
   *
   * @param host that it is for
   * @throws StatusException {@link Status#PERMISSION_DENIED} for one of a page of another site,
   *     unless it only reads
   */
  public void checkOrigin(HttpMethod method, HttpHeaders headers, @Nullable String host) {
    if (!isHeeded || method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD)) {
      return;
    }
    String site = headers.get(SITE);
    String origin = headers.get(HttpHeaderNames.ORIGIN);
    boolean isForeign =
        site == null
            ? origin != null && !isOf(origin, host)
            : !site.equals("same-origin") && !site.equals("none");
    if (isForeign && (origin == null || !ownOrigins.contains(origin.toLowerCase(Locale.ROOT)))) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          "a page of another site (%s) may not ask this; use a page of this server,"
                  .formatted(origin == null ? site : UriPath.shorten(origin))
              + " name it in server.origins if it is one behind a proxy, or set"
              + " security.api-keys and send a key from elsewhere than a page");
    }
  }

  private static boolean isOf(String origin, @Nullable String host) {
    int scheme = origin.indexOf("://");
    return scheme >= 0 && origin.substring(scheme + "://".length()).equalsIgnoreCase(host);
  }

  private boolean isOwn(String host) {
    String name = withoutPort(host).toLowerCase(Locale.ROOT);
    return name.equals("localhost")
        || name.endsWith(".localhost")
        || ownNames.contains(name)
        || NetUtil.isValidIpV4Address(name)
        || NetUtil.isValidIpV6Address(name);
  }

  private static String withoutPort(String host) {
    int bracket = host.indexOf(']');
    if (host.startsWith("[") && bracket > 0) {
      return host.substring(1, bracket);
    }
    int colon = host.lastIndexOf(':');
    return colon < 0 ? host : host.substring(0, colon);
  }
}
