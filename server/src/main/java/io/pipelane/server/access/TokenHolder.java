package io.pipelane.server.access;

import com.nimbusds.jwt.JWTClaimsSet;
import java.util.List;

/**
 * The holder of a token.
 *
 * @param owner tells him from all other holders of tokens, and of keys
 * @param name what messages call him
 */
record TokenHolder(String owner, String name) {
  /*
   * A token says who holds it by its subject (RFC 7519). One that a program was given for itself may
   * have none, and names the program: client_id (RFC 9068), or azp (OpenID Connect). What is left
   * stands for itself alone, by its id, or by its text.
   */
  private static final List<String> CLAIMS = List.of("sub", "client_id", "azp", "jti");

  private static final int LONGEST_NAME = 64;
  private static final int DIGITS_SHOWN = 8;

  /**
   * The holder of a token that was found good.
   *
   * @param digest of its text
   */
  static TokenHolder of(JWTClaimsSet claims, String digest) {
    for (String claim : CLAIMS) {
      if (claims.getClaim(claim) instanceof String text && !text.isEmpty()) {
        return new TokenHolder(
            "token %s %s".formatted(claim, text), "token of \"" + printable(text) + '"');
      }
    }
    return new TokenHolder(
        "token digest " + digest, "the token " + digest.substring(0, DIGITS_SHOWN));
  }

  private static String printable(String text) {
    String clean = text.replaceAll("[^\\w@.:|+-]", "?");
    return clean.length() > LONGEST_NAME ? clean.substring(0, LONGEST_NAME) : clean;
  }
}
