package io.pipelane.server.jobs;

import io.pipelane.runtime.NativeFunction;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.Charset;
import java.nio.file.FileSystemException;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A disk, or somebody's share of it, that has no room for what a job writes. */
final class FullDisk {
  /* Java hands on nothing but the system's words, which may be of any language. */
  private static final int ENOSPC = 28;
  private static final int EDQUOT = 122;
  private static final int LONGEST_TEXT = 1024;

  private static final Set<String> SAID =
      Stream.of(ENOSPC, EDQUOT).map(FullDisk::text).collect(Collectors.toUnmodifiableSet());

  private FullDisk() {}

  /** What the system says of an error. */
  private static String text(int errno) {
    long address = NativeFunction.of("strerror").call(errno, 0, 0);
    MemorySegment text = MemorySegment.ofAddress(address).reinterpret(LONGEST_TEXT);
    int length = 0;
    while (text.get(ValueLayout.JAVA_BYTE, length) != 0) {
      length++;
    }
    return new String(
        text.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE),
        Charset.forName(System.getProperty("sun.jnu.encoding")));
  }

  /** Whether that is why something could not be written. */
  static boolean isBehind(IOException cause) {
    String said =
        cause instanceof FileSystemException ofFile ? ofFile.getReason() : cause.getMessage();
    return said != null && SAID.stream().anyMatch(said::endsWith);
  }
}
