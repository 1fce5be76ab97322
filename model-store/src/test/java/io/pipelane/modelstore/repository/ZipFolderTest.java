package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files have holes instead of the directories that they claim. */
class ZipFolderTest {
  private static final int CLAIMED = 1 << 30;
  private static final int COMMENT_BYTES = 300;

  @TempDir Path root;
  private Path zip;

  @BeforeEach
  void name() {
    zip = root.resolve("model.zip");
  }

  @Test
  void unpack_hugeDirectory_isRefusedBeforeItIsRead() throws IOException {
    write(CLAIMED, end(CLAIMED, COMMENT_BYTES), new byte[COMMENT_BYTES]);
    assertRefused();
  }

  @Test
  void unpack_hugeDirectoryBehindWhichBytesFollow_isRefused() throws IOException {
    write(CLAIMED, end(CLAIMED, 0), new byte[COMMENT_BYTES]);
    try (RandomAccessFile file = new RandomAccessFile(zip.toFile(), "rw")) {
      file.writeInt(0x504b0102);
    }
    assertRefused();
  }

  @Test
  void unpack_hugeDirectoryOf64Bits_isRefused() throws IOException {
    byte[] record = new byte[56];
    little(record).putInt(0x06064b50).putLong(44).position(40).putLong(CLAIMED);
    byte[] locator = new byte[20];
    little(locator).putInt(0x07064b50).putInt(0).putLong(CLAIMED).putInt(1);
    write(CLAIMED, record, locator, end(-1, 0));
    assertRefused();
  }

  /** Its comment holds what could be the record of a huge directory, but is not. */
  @Test
  void unpack_commentLikeARecord_isUnpacked() throws IOException {
    String comment = "PK\5\6" + "a".repeat(40);
    try (ZipOutputStream stream = new ZipOutputStream(Files.newOutputStream(zip))) {
      stream.setComment(comment);
      stream.putNextEntry(new ZipEntry("model.onnx"));
      stream.write(1);
    }
    Path folder = Files.createDirectory(root.resolve("out"));
    assertEquals(1, ZipFolder.unpack(zip, folder, ByteSize.ofMebibytes(1)));
  }

  private void assertRefused() {
    StatusException error =
        assertThrows(
            StatusException.class, () -> ZipFolder.unpack(zip, root, ByteSize.ofMebibytes(1)));
    assertTrue(
        String.valueOf(error.getMessage()).contains("said to have " + CLAIMED), error.getMessage());
  }

  private void write(long at, byte[]... pieces) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(zip.toFile(), "rw")) {
      file.seek(at);
      for (byte[] piece : pieces) {
        file.write(piece);
      }
    }
  }

  private static byte[] end(int directoryBytes, int commentBytes) {
    byte[] end = new byte[22];
    little(end)
        .putInt(0x06054b50)
        .position(12)
        .putInt(directoryBytes)
        .putInt(0)
        .putShort((short) commentBytes);
    return end;
  }

  private static ByteBuffer little(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
