package io.pipelane.server.access;

import io.pipelane.modelstore.Sha256;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HexFormat;

/** The text of API keys. */
public final class KeyText {
  private static final String PREFIX = "pl-";
  private static final int RANDOM_BYTES = 32;

  /** What holders of keys may be called. */
  public static final String NAME = "[A-Za-z0-9._ -]{1,64}";

  /** What a key may be for: a model, those that begin alike, or all. */
  public static final String MODELS = "[^*]+\\*?|\\*";

  private KeyText() {}

  /** A new key, of 256 random bits. */
  public static String random(SecureRandom random) {
    byte[] bytes = new byte[RANDOM_BYTES];
    random.nextBytes(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** A key's SHA-256 in hexadecimal, as key files have it. */
  public static String digest(String key) {
    return HexFormat.of().formatHex(digestBytes(key));
  }

  static byte[] digestBytes(String key) {
    return Sha256.of(key);
  }
}
