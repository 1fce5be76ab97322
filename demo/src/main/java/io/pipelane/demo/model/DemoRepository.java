package io.pipelane.demo.model;

import io.pipelane.modelstore.Sha256;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestInputStream;
import java.util.HexFormat;
import java.util.Set;

/** A model repository on disk, made of unmodified demo models. */
public final class DemoRepository {
  private DemoRepository() {}

  /** Writes version 1 of each model, see {@link #write(Path, Set, int)}. */
  public static void write(Path repository, Set<DemoModel> models) throws IOException {
    write(repository, models, 1);
  }

  /**
   * Writes {@code <repository>/<model>/<version>/model.onnx} for versions 1 to {@code versions},
   * all of them copies of the same file. A file that is there already and has the right digest is
   * left alone; a file appears whole or not at all.
   *
   * @throws IOException when a file cannot be written, or an artifact's file is not the one that
   *     the demo knows
   */
  public static void write(Path repository, Set<DemoModel> models, int versions)
      throws IOException {
    for (DemoModel model : models) {
      for (int version = 1; version <= versions; version++) {
        Path file = file(repository, model, version);
        if (!isIntact(file, model)) {
          copy(model, file);
        }
      }
    }
  }

  /** Where a version's model file lies. */
  public static Path file(Path repository, DemoModel model, int version) {
    return repository
        .resolve(model.modelName())
        .resolve(Integer.toString(version))
        .resolve("model.onnx");
  }

  private static boolean isIntact(Path file, DemoModel model) throws IOException {
    if (!Files.isRegularFile(file) || Files.size(file) != model.byteSize()) {
      return false;
    }
    try (InputStream in = Files.newInputStream(file)) {
      return digestWhileCopying(in, OutputStream.nullOutputStream()).equals(model.sha256());
    }
  }

  private static void copy(DemoModel model, Path file) throws IOException {
    Files.createDirectories(file.getParent());
    Path part = Files.createTempFile(file.getParent(), ".model", ".part");
    try {
      String digest;
      try (InputStream in = model.open();
          OutputStream out = Files.newOutputStream(part)) {
        digest = digestWhileCopying(in, out);
      }
      if (!digest.equals(model.sha256())) {
        throw new IOException(
            "%s in its artifact has SHA-256 %s, not %s; is another version of it on the class path?"
                .formatted(model.modelName(), digest, model.sha256()));
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  private static String digestWhileCopying(InputStream in, OutputStream out) throws IOException {
    DigestInputStream digesting = new DigestInputStream(in, Sha256.begin());
    digesting.transferTo(out);
    return HexFormat.of().formatHex(digesting.getMessageDigest().digest());
  }
}
