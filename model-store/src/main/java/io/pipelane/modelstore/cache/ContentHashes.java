package io.pipelane.modelstore.cache;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.modelstore.Sha256;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * SHA-256 hashes of files, remembered by path and {@link FileStamp}, so that large files are read
 * once and not at every start. Safe for any thread. Processes may share the index: each adds what
 * it has hashed itself to what stands there.
 *
 * <p>It saves reading and nothing else: what cannot be kept or written down is hashed again.
 */
public final class ContentHashes {
  /** A file changed so recently could change again without its time of change showing it. */
  private static final Duration UNSETTLED = Duration.ofSeconds(2);

  private static final System.Logger LOG = System.getLogger(ContentHashes.class.getName());
  private static final int MAXIMUM_ENTRIES = 100_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Path index;
  private final Clock clock;
  private final Map<String, Entry> known = new ConcurrentHashMap<>();

  /** Of those, what has been hashed here and is yet to be saved. */
  private final Map<String, Entry> unsaved = new ConcurrentHashMap<>();

  record Entry(FileStamp stamp, String sha256) {}

  private ContentHashes(Path index, Clock clock) {
    this.index = index;
    this.clock = clock;
  }

  /**
   * Opens the index, without files that are gone; a damaged one is started anew.
   *
   * @param index the file it is kept in
   */
  public static ContentHashes open(Path index, Clock clock) {
    ContentHashes hashes = new ContentHashes(index, clock);
    hashes.addWritten();
    return hashes;
  }

  /**
   * The hash of a model: of its file and, because it may keep external data in them, of every other
   * file in its folder, names included.
   *
   * @param folder its files
   */
  public String ofModel(Path modelFile, ModelFolder folder) throws IOException {
    StringBuilder listing = new StringBuilder(modelFile.getFileName() + "\n");
    for (Path file : folder.files()) {
      listing
          .append(folder.folder().relativize(file))
          .append('\n')
          .append(ofFile(file))
          .append('\n');
    }
    save();
    return ofText(listing.toString());
  }

  /** Whether {@link #ofModel} would read none of a model's files, as all are remembered. */
  public boolean knows(ModelFolder folder) throws IOException {
    for (Path file : folder.files()) {
      Entry entry = known.get(file.toString());
      if (entry == null || !entry.stamp().equals(FileStamp.of(file).stamp())) {
        return false;
      }
    }
    return true;
  }

  /** The hash of a text. */
  public static String ofText(String text) {
    return HexFormat.of().formatHex(Sha256.of(text));
  }

  private String ofFile(Path file) throws IOException {
    FileStamp.Taken taken = FileStamp.of(file);
    Entry entry = known.get(file.toString());
    if (entry != null && entry.stamp().equals(taken.stamp())) {
      return entry.sha256();
    }
    MessageDigest digest = Sha256.begin();
    try (InputStream in = Files.newInputStream(file);
        OutputStream sink = new DigestOutputStream(OutputStream.nullOutputStream(), digest)) {
      in.transferTo(sink);
    }
    String hash = HexFormat.of().formatHex(digest.digest());
    boolean settled = taken.changed().isBefore(clock.instant().minus(UNSETTLED));
    if (settled && (entry != null || known.size() < MAXIMUM_ENTRIES)) {
      Entry hashed = new Entry(taken.stamp(), hash);
      known.put(file.toString(), hashed);
      unsaved.put(file.toString(), hashed);
    }
    return hash;
  }

  /** A name that this process's locale has no characters for is that of no file. */
  private static boolean isThere(String file) {
    try {
      return Files.exists(Path.of(file));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  /**
   * Takes over what stands in the index, but of files that are gone; a damaged one says nothing.
   */
  private void addWritten() {
    try {
      if (Files.isRegularFile(index)) {
        Map<String, Entry> written = JSON.readValue(index.toFile(), new TypeReference<>() {});
        written.keySet().removeIf(file -> !known.containsKey(file) && !isThere(file));
        written.entrySet().stream()
            .filter(entry -> known.containsKey(entry.getKey()) || known.size() < MAXIMUM_ENTRIES)
            .forEach(entry -> known.put(entry.getKey(), entry.getValue()));
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.DEBUG, "hashes of model files cannot be read: {0}", e.toString());
    }
  }

  private void save() {
    if (!unsaved.isEmpty()) {
      saveInTurn();
    }
  }

  /** One process at a time, and one thread of it. */
  private void saveInTurn() {
    synchronized (ContentHashes.class) {
      Map<String, Entry> own = Map.copyOf(unsaved);
      try (Turn _ = Turn.take(index.resolveSibling(index.getFileName() + ".lock"))) {
        addWritten();
        known.putAll(own);
        write();
        own.forEach(unsaved::remove);
      } catch (IOException e) {
        LOG.log(
            Level.WARNING,
            "hashes of model files are not kept, they will be read again: {0}",
            e.toString());
      }
    }
  }

  private void write() throws IOException {
    Path draft = Files.createTempFile(index.toAbsolutePath().getParent(), "hashes", ".part");
    try {
      JSON.writeValue(draft.toFile(), new TreeMap<>(known));
      Files.move(draft, index, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }
}
