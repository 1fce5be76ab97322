package io.pipelane.lanes.process;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The memory that the server in this process shares with its workers. */
public final class SharedAreas {
  /** In front of the channels, with what identifies the memory. */
  private static final int HEADER = 4096;

  private SharedAreas() {}

  /** Descriptors of this process for memory whose name begins so. */
  static List<Path> descriptors(String name) throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return all.filter(descriptor -> target(descriptor).startsWith(name)).toList();
    }
  }

  private static String target(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException e) {
      return ""; // It is closed by now.
    }
  }

  /** Overwrites all that a worker and the server tell each other. */
  public static void fillWithGarbage(int worker) throws IOException {
    for (Path descriptor : descriptors("/memfd:pipelane-worker-" + worker + " ")) {
      try (FileChannel memory = FileChannel.open(descriptor, StandardOpenOption.WRITE)) {
        byte[] garbage = new byte[Math.toIntExact(memory.size() - HEADER)];
        Arrays.fill(garbage, (byte) 0x7f);
        ByteBuffer left = ByteBuffer.wrap(garbage);
        while (left.hasRemaining()) {
          memory.write(left, HEADER + left.position());
        }
      }
    }
  }
}
