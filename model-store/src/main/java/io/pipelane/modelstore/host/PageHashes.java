package io.pipelane.modelstore.host;

import io.pipelane.modelstore.Sha256;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * SHA-256 hashes of the pages of a weights file, in order, kept beside it so that it is read once
 * for them. Pages of one hash hold the same bytes, and the last is hashed as far as it goes.
 */
final class PageHashes {
  /*
   * The kept file says the weights' size, then one hash a line. It is renamed into place, so it is
   * there whole or not at all; one that does not fit the weights, or is older, is made anew. Files
   * of weights do not change once they are published.
   */
  private static final System.Logger LOG = System.getLogger(PageHashes.class.getName());
  private static final int PIECE_BYTES = 1 << 18;
  private static final int HASH_BYTES = 32;

  private PageHashes() {}

  /**
   * The hashes of a file's pages; blocks while the file is read, the first time.
   *
   * @throws IOException when it cannot be read
   */
  static List<String> of(Path weights, long pageBytes) throws IOException {
    Path kept = weights.resolveSibling(weights.getFileName() + "." + pageBytes + ".sha256");
    List<String> known = read(kept, weights, pageBytes);
    if (!known.isEmpty()) {
      return known;
    }
    List<String> hashes = hash(weights, pageBytes);
    keep(kept, Files.size(weights), hashes);
    return hashes;
  }

  /** Empty where nothing is kept that fits. */
  private static List<String> read(Path kept, Path weights, long pageBytes) throws IOException {
    try {
      return readKept(kept, weights, pageBytes);
    } catch (CharacterCodingException e) {
      return List.of();
    }
  }

  private static List<String> readKept(Path kept, Path weights, long pageBytes) throws IOException {
    long byteSize = Files.size(weights);
    long pages = Math.ceilDiv(byteSize, pageBytes);
    long longest = (pages + 1) * (2 * HASH_BYTES + 1);
    if (!Files.isRegularFile(kept)
        || Files.size(kept) > longest
        || Files.getLastModifiedTime(kept).compareTo(Files.getLastModifiedTime(weights)) < 0) {
      return List.of();
    }
    List<String> lines = Files.readAllLines(kept);
    boolean fits =
        lines.size() == pages + 1
            && lines.getFirst().equals(Long.toString(byteSize))
            && lines.stream().skip(1).allMatch(line -> line.length() == 2 * HASH_BYTES);
    return fits ? List.copyOf(lines.subList(1, lines.size())) : List.of();
  }

  private static List<String> hash(Path weights, long pageBytes) throws IOException {
    MessageDigest digest = Sha256.begin();
    List<String> hashes = new ArrayList<>();
    ByteBuffer piece = ByteBuffer.allocate((int) Math.min(PIECE_BYTES, pageBytes));
    long left = pageBytes;
    try (FileChannel file = FileChannel.open(weights, StandardOpenOption.READ)) {
      while (file.read(piece.clear().limit((int) Math.min(piece.capacity(), left))) >= 0) {
        left -= piece.position();
        digest.update(piece.flip());
        if (left == 0) {
          hashes.add(HexFormat.of().formatHex(digest.digest()));
          left = pageBytes;
        }
      }
    }
    if (left < pageBytes) {
      hashes.add(HexFormat.of().formatHex(digest.digest()));
    }
    return List.copyOf(hashes);
  }

  /** Where it cannot be kept, it is read again another time. */
  private static void keep(Path kept, long byteSize, List<String> hashes) {
    try {
      Path draft = Files.createTempFile(kept.toAbsolutePath().getParent(), "pages", ".part");
      try {
        List<String> lines = new ArrayList<>(hashes);
        lines.addFirst(Long.toString(byteSize));
        Files.write(draft, lines);
        try (FileChannel written = FileChannel.open(draft, StandardOpenOption.WRITE)) {
          written.force(true);
        }
        Files.move(draft, kept, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(draft);
      }
    } catch (IOException e) {
      LOG.log(
          Level.DEBUG,
          "hashes of weights are not kept, they will be read again: {0}",
          e.toString());
    }
  }
}
