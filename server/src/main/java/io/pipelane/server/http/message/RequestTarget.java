package io.pipelane.server.http.message;

import org.jspecify.annotations.Nullable;

/**
 * The target of a request: a path, and the authority too where the target is a whole address (RFC
 * 9112, section 3.2.2), as clients of proxies write it.
 *
 * @param authority null where the target has none
 */
public record RequestTarget(String path, @Nullable String authority) {
  private static final String[] SCHEMES = {"http://", "https://"};

  /** Takes a target apart; one of another form is kept as it is. */
  public static RequestTarget of(String target) {
    if (!target.startsWith("/")) {
      for (String scheme : SCHEMES) {
        if (target.regionMatches(true, 0, scheme, 0, scheme.length())) {
          return absolute(target, scheme.length());
        }
      }
    }
    return new RequestTarget(target, null);
  }

  private static RequestTarget absolute(String target, int begin) {
    int end = begin;
    while (end < target.length() && target.charAt(end) != '/' && target.charAt(end) != '?') {
      end++;
    }
    if (end == begin) {
      return new RequestTarget(target, null);
    }
    String rest = target.substring(end);
    return new RequestTarget(
        rest.startsWith("/") ? rest : "/" + rest, target.substring(begin, end));
  }
}
