package io.pipelane.modelstore.cache;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;

/** The list of a folder's files with their sizes and checksums, kept in the folder. */
final class Manifest {
  private static final String NAME = "manifest.json";
  private static final long MAXIMUM_BYTES = 1 << 20;
  private static final ObjectMapper JSON = new ObjectMapper();

  private Manifest() {}

  /** The recorded size and checksum of a file. */
  record Entry(long byteSize, long crc32c) {}

  static void write(Path folder) throws IOException {
    Map<String, Entry> entries = new TreeMap<>();
    for (Path file : Folders.list(folder)) {
      entries.put(file.getFileName().toString(), new Entry(Files.size(file), checksum(file)));
    }
    JSON.writeValue(folder.resolve(NAME).toFile(), entries);
  }

  /**
   * Files of a name that have the same size, of so many bytes at least, and checksum in two
   * folders; none where a manifest cannot be read.
   */
  static List<String> inCommon(Path folder, Path other, long leastBytes) {
    try {
      Map<String, Entry> theirs = read(other);
      return read(folder).entrySet().stream()
          .filter(entry -> entry.getValue().byteSize() >= leastBytes)
          .filter(entry -> entry.getValue().equals(theirs.get(entry.getKey())))
          .map(Map.Entry::getKey)
          .toList();
    } catch (IOException | RuntimeException e) {
      return List.of();
    }
  }

  private static Map<String, Entry> read(Path folder) throws IOException {
    Path manifest = folder.resolve(NAME);
    if (!Files.isRegularFile(manifest) || Files.size(manifest) > MAXIMUM_BYTES) {
      return Map.of();
    }
    return JSON.readValue(manifest.toFile(), new TypeReference<Map<String, Entry>>() {});
  }

  /** Whether the folder holds every file of its manifest in its size, and checksum if asked. */
  static boolean matches(Path folder, boolean withChecksums) {
    try {
      Map<String, Entry> entries = read(folder);
      for (Map.Entry<String, Entry> entry : entries.entrySet()) {
        Path file = folder.resolve(entry.getKey());
        Entry expected = entry.getValue();
        if (Files.size(file) != expected.byteSize()
            || (withChecksums && checksum(file) != expected.crc32c())) {
          return false;
        }
      }
      return !entries.isEmpty();
    } catch (IOException | RuntimeException e) {
      return false; // Unreadable is damaged: it is built again.
    }
  }

  private static long checksum(Path file) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 18);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      while (channel.read(buffer) >= 0) {
        crc.update(buffer.flip());
        buffer.clear();
      }
    }
    return crc.getValue();
  }
}
