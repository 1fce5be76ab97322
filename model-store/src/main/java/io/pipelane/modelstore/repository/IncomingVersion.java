package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Sha256;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** A version on its way into a repository. Used by one thread; its methods block. */
public final class IncomingVersion implements AutoCloseable {
  private static final String MODEL_FILE = "model.onnx";
  private static final String PACKED_FILE = "packed.zip";

  private final RepositoryWriter writer;
  private final ModelVersion version;
  private final Form form;
  private final Draft draft;
  private final FileChannel file;
  private final MessageDigest digest = Sha256.begin();
  private long bytes;

  /** The form in which a version is sent. */
  public enum Form {
    /** The model's file alone. */
    MODEL,
    /** A ZIP file of the version's folder. */
    ZIP
  }

  /**
   * A version that has been put into the repository.
   *
   * @param bytes as they were sent
   * @param sha256 of these bytes, in hexadecimal
   */
  public record Stored(ModelVersion version, long bytes, String sha256) {}

  IncomingVersion(RepositoryWriter writer, ModelVersion version, Form form, Draft draft)
      throws IOException {
    this.writer = writer;
    this.version = version;
    this.form = form;
    this.draft = draft;
    Path target =
        switch (form) {
          case MODEL -> draft.content().resolve(MODEL_FILE);
          case ZIP -> draft.beside(PACKED_FILE);
        };
    this.file = FileChannel.open(target, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  /**
   * Takes the next bytes.
   *
   * @throws StatusException {@link Status#TOO_LARGE} beyond the writer's limit
   */
  public void write(ByteBuffer piece) throws IOException {
    bytes += piece.remaining();
    if (bytes > writer.limit().bytes()) {
      throw tooLarge();
    }
    digest.update(piece.duplicate());
    while (piece.hasRemaining()) {
      file.write(piece);
    }
  }

  private StatusException tooLarge() {
    return new StatusException(
        Status.TOO_LARGE,
        "%s has more than repository.upload-limit, %s".formatted(version, writer.limit()));
  }

  /**
   * Puts the version into the repository.
   *
   * @param expected the SHA-256 of what was sent, as the sender knows it
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when something else has come, when it
   *     cannot be unpacked or is no version's folder, or when the version has come there meanwhile;
   *     {@link Status#UNAVAILABLE} when somebody has deleted some of it
   */
  public Stored finish(Optional<byte[]> expected) throws IOException {
    byte[] found = digest.digest();
    String text = HexFormat.of().formatHex(found);
    if (expected.isPresent() && !MessageDigest.isEqual(expected.get(), found)) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "what has come of %s has the SHA-256 %s, not %s; send it again"
              .formatted(version, text, HexFormat.of().formatHex(expected.get())));
    }
    file.force(true);
    file.close();
    int files =
        switch (form) {
          case MODEL -> 1;
          case ZIP -> unpack();
        };
    writer.publish(draft.content(), version, files);
    return new Stored(version, bytes, text);
  }

  private int unpack() throws IOException {
    int files = ZipFolder.unpack(draft.beside(PACKED_FILE), draft.content(), writer.limit());
    requireServable();
    return files;
  }

  /** Refuses what could be stored but never be served, or not as its sender means it. */
  private void requireServable() throws IOException {
    Path content = draft.content();
    Path model = writer.modelFile(version.model(), content);
    if (!Files.isRegularFile(model)) {
      throw refused(
          "it has no %s at its top; pack what lies in the version's folder, not the folder"
              .formatted(content.relativize(model)));
    }
    for (String options : List.of(ModelOptionsFile.NAME, TritonConfigFile.NAME)) {
      if (Files.exists(content.resolve(options))) {
        throw refused(
            "it has %s, which is read from the model's folder alone and counts for all versions;"
                    .formatted(options)
                + " leave it out here and put it there");
      }
    }
  }

  private StatusException refused(String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "the ZIP file of %s is refused: %s".formatted(version, reason));
  }

  /** Clears away what is left; what has been finished stays. */
  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      // The draft goes anyway.
    }
    draft.close();
  }
}
