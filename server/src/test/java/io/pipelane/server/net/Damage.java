package io.pipelane.server.net;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Random;

/** Damages bytes: some changed, missing, or twice. */
public final class Damage {
  private Damage() {}

  /** The bytes with one to four damages. */
  public static byte[] of(byte[] sound, Random random) {
    byte[] bytes = sound.clone();
    for (int changes = random.nextInt(4); changes >= 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      int end = Math.min(bytes.length, at + 1 + random.nextInt(8));
      switch (random.nextInt(6)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt(256);
        case 2 -> bytes = Arrays.copyOf(bytes, 1 + at);
        case 3 -> bytes = joined(bytes, at, end);
        case 4 -> bytes = joined(bytes, end, at);
        default ->
            System.arraycopy(
                bytes, at, bytes, random.nextInt(bytes.length - (end - at) + 1), end - at);
      }
    }
    return bytes;
  }

  /** What is before one place, and what is behind another: between them is missing, or twice. */
  private static byte[] joined(byte[] bytes, int before, int behind) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(bytes, 0, before);
    all.write(bytes, behind, bytes.length - behind);
    return all.toByteArray();
  }
}
