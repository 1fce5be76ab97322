package io.pipelane.loadgen.file;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The files that a test has read, each with the SHA-256 of what it held, so that whoever measures
 * it again can tell whether it is the same test. One thread at a time.
 */
public final class FilesRead {
  private static final int BYTE_ORDER_MARK = 0xFEFF;

  private final SortedMap<String, String> digests = new TreeMap<>();

  /**
   * Notes a file that is about to be read; nothing else happens to it.
   *
   * @throws IOException when it cannot be read
   */
  public void note(Path file) throws IOException {
    MessageDigest digest = sha256();
    try (InputStream in = new DigestInputStream(Files.newInputStream(file), digest)) {
      in.transferTo(OutputStream.nullOutputStream());
    }
    digests.put(file.toString(), HexFormat.of().formatHex(digest.digest()));
  }

  /**
   * Notes a text and opens it, behind the byte order mark that some editors begin it with.
   *
   * @throws IOException when it cannot be read
   */
  public BufferedReader open(Path text) throws IOException {
    note(text);
    BufferedReader reader = Files.newBufferedReader(text);
    try {
      reader.mark(1);
      if (reader.read() != BYTE_ORDER_MARK) {
        reader.reset();
      }
      return reader;
    } catch (IOException e) {
      reader.close();
      throw e;
    }
  }

  /** SHA-256 in hexadecimal digits by path, as the paths were given. */
  public SortedMap<String, String> digests() {
    return Collections.unmodifiableSortedMap(new TreeMap<>(digests));
  }

  /**
   * Checks that exactly the files of another test were read, and that each holds what it held then.
   *
   * @param then what {@link #digests} was of the other test
   * @throws StatusException {@link Status#INVALID_ARGUMENT} with the first file that differs, and
   *     both digests
   */
  public void requireSame(Map<String, String> then) {
    then.forEach(
        (file, digest) -> {
          String now = digests.get(file);
          if (now == null) {
            throw changed(file + " was read then, and is not read now");
          }
          if (!now.equals(digest)) {
            throw changed(file + " has changed: its SHA-256 was " + digest + ", and is " + now);
          }
        });
    digests.forEach(
        (file, digest) -> {
          if (!then.containsKey(file)) {
            throw changed(file + ", of SHA-256 " + digest + ", is read now, and was not then");
          }
        });
  }

  private static StatusException changed(String how) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "the result cannot be measured again: "
            + how
            + "; bring the file back as it was, or start a new measurement");
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
