package io.pipelane.server.http.message;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Base64;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The field Content-Digest (RFC 9530), such as {@code
 * sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4Dukl0=:}.
 */
public final class DigestField {
  public static final String NAME = "Content-Digest";

  private static final String SHA_256 = "sha-256=:";
  private static final int SHA_256_BYTES = 32;

  private DigestField() {}

  /**
   * The SHA-256 that a field names, among others perhaps; empty where there is no field.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it names none, or one that is none
   */
  public static Optional<byte[]> sha256(@Nullable String field) {
    if (field == null) {
      return Optional.empty();
    }
    for (String element : field.split(",", -1)) {
      String digest = element.strip();
      if (digest.startsWith(SHA_256)
          && digest.endsWith(":")
          && digest.length() > SHA_256.length()) {
        return Optional.of(decode(digest.substring(SHA_256.length(), digest.length() - 1)));
      }
    }
    throw refused();
  }

  private static byte[] decode(String text) {
    byte[] bytes;
    try {
      bytes = Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw refused();
    }
    if (bytes.length != SHA_256_BYTES) {
      throw refused();
    }
    return bytes;
  }

  private static StatusException refused() {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        NAME + " must be like sha-256=:BASE64:, the SHA-256 of the body as it is sent");
  }
}
