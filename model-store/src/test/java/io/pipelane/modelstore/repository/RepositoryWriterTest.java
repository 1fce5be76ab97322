package io.pipelane.modelstore.repository;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.IncomingVersion.Form;
import io.pipelane.modelstore.repository.IncomingVersion.Stored;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class RepositoryWriterTest {
  private static final ModelVersion VERSION = new ModelVersion("a model", 3);
  private static final byte[] CONTENT = "not really ONNX".getBytes(StandardCharsets.UTF_8);

  @TempDir Path parent;
  private Path root = Path.of("");
  private @Nullable RepositoryWriter opened;

  private static RepositoryWriter newWriter(Path folder) {
    return new RepositoryWriter(folder, new ByteSize(1000), new Random(1));
  }

  @BeforeEach
  void open() throws IOException {
    root = Files.createDirectory(parent.resolve("repository"));
    opened = newWriter(root);
  }

  private RepositoryWriter writer() {
    return Objects.requireNonNull(opened);
  }

  private Stored store(Form form, byte[] bytes, Optional<byte[]> digest) throws IOException {
    try (IncomingVersion incoming = writer().receive(VERSION, form)) {
      for (byte b : bytes) {
        incoming.write(ByteBuffer.wrap(new byte[] {b}));
      }
      return incoming.finish(digest);
    }
  }

  private Status refused(Form form, byte[] bytes) {
    StatusException error =
        assertThrows(StatusException.class, () -> store(form, bytes, Optional.empty()));
    assertTrue(entries().isEmpty(), "nothing is left: " + entries());
    return error.status();
  }

  private List<Path> entries() {
    try (Stream<Path> entries = Files.list(root)) {
      return entries.toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] zip(Map<String, byte[]> files) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        zip.putNextEntry(new ZipEntry(file.getKey()));
        zip.write(file.getValue());
      }
    }
    return bytes.toByteArray();
  }

  @Test
  void file_becomesAVersion() throws IOException {
    Stored stored = store(Form.MODEL, CONTENT, Optional.empty());
    assertEquals(CONTENT.length, stored.bytes());
    assertEquals(64, stored.sha256().length());
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx")));
    assertEquals(VERSION, new Repository(root).scan().registered().getFirst().version());
    assertEquals(1, entries().size());
  }

  @Test
  void zip_becomesAVersionWithAllItsFiles() throws IOException {
    Map<String, byte[]> files = new TreeMap<>(Map.of("model.onnx", CONTENT, "data/w", CONTENT));
    store(Form.ZIP, zip(files), Optional.empty());
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/data/w")));
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"3/model.onnx", "net.onnx"})
  void zip_withoutTheModelAtItsTop_isRefused(String name) throws IOException {
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip(Map.of(name, CONTENT))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"pipelane.yaml", "config.pbtxt"})
  void zip_withOptionsThatWouldNotCount_isRefused(String name) throws IOException {
    Map<String, byte[]> files = Map.of("model.onnx", CONTENT, name, CONTENT);
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip(files)));
  }

  @Test
  void zip_mayHaveAModelOfSeveralFilesInItsFolder() throws IOException {
    Map<String, byte[]> files = Map.of("model.onnx/model.onnx", CONTENT, "model.onnx/w", CONTENT);
    store(Form.ZIP, zip(files), Optional.empty());
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx/w")));
  }

  @Test
  void zip_hasTheFileThatItsModelNames() throws IOException {
    Path folder = Files.createDirectory(root.resolve(VERSION.model()));
    Files.writeString(folder.resolve("config.pbtxt"), "default_model_filename: \"net.onnx\"");
    store(Form.ZIP, zip(Map.of("net.onnx", CONTENT)), Optional.empty());
    assertArrayEquals(CONTENT, Files.readAllBytes(folder.resolve("3/net.onnx")));
  }

  @Test
  void draft_isNoModel() throws IOException {
    try (IncomingVersion incoming = writer().receive(VERSION, Form.MODEL)) {
      incoming.write(ByteBuffer.wrap(CONTENT));
      RepositoryScan scan = new Repository(root).scan();
      assertEquals(List.of(), scan.registered());
      assertEquals(List.of(), scan.problems());
    }
    assertEquals(List.of(), entries());
  }

  @Test
  void digest_thatDiffers_isRefused() throws IOException {
    StatusException error =
        assertThrows(
            StatusException.class, () -> store(Form.MODEL, CONTENT, Optional.of(new byte[32])));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    assertEquals(List.of(), entries());
  }

  @Test
  void version_thatIsThere_staysAsItIs() throws IOException {
    store(Form.MODEL, CONTENT, Optional.empty());
    assertThrows(StatusException.class, () -> store(Form.MODEL, new byte[1], Optional.empty()));
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx")));
  }

  @Test
  void twoAtOnce_oneWins() throws IOException {
    try (IncomingVersion first = writer().receive(VERSION, Form.MODEL);
        IncomingVersion second = writer().receive(VERSION, Form.MODEL)) {
      first.write(ByteBuffer.wrap(CONTENT));
      first.finish(Optional.empty());
      assertThrows(StatusException.class, () -> second.finish(Optional.empty()));
    }
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx")));
    assertEquals(1, entries().size());
  }

  @Test
  void limits_holdPackedAndUnpacked() throws IOException {
    assertEquals(Status.TOO_LARGE, refused(Form.MODEL, new byte[1001]));
    byte[] bomb = zip(Map.of("model.onnx", new byte[100_000]));
    assertTrue(bomb.length < 1000);
    assertEquals(Status.TOO_LARGE, refused(Form.ZIP, bomb));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"../model.onnx", "a/../../model.onnx", "/tmp/model.onnx", "..\\model.onnx", "."})
  void zip_thatLeadsOut_isRefused(String name) throws IOException {
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip(Map.of(name, CONTENT))));
    assertFalse(Files.exists(parent.resolve("model.onnx")));
  }

  @Test
  void zip_thatIsNone_isRefused() {
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, CONTENT));
  }

  /** The offset of an entry's data in a file that has it alone, or as the first. */
  private static int dataOf(byte[] zip) {
    ByteBuffer header = ByteBuffer.wrap(zip).order(ByteOrder.LITTLE_ENDIAN);
    return 30 + header.getShort(26) + header.getShort(28);
  }

  /** A file whose only entry is not packed. */
  private static byte[] stored(byte[] content) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
      CRC32 checksum = new CRC32();
      checksum.update(content);
      ZipEntry entry = new ZipEntry("model.onnx");
      entry.setMethod(ZipEntry.STORED);
      entry.setSize(content.length);
      entry.setCrc(checksum.getValue());
      zip.putNextEntry(entry);
      zip.write(content);
    }
    return bytes.toByteArray();
  }

  @Test
  void zip_withADamagedByte_isRefused() throws IOException {
    byte[] zip = stored(CONTENT);
    zip[dataOf(zip)] ^= 1;
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip));
  }

  @Test
  void zip_whosePackedBytesEndEarly_isRefused() throws IOException {
    byte[] zip = zip(Map.of("model.onnx", CONTENT));
    zip[dataOf(zip)] &= ~1; // The only block is no longer the last.
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a/b", "a/b/c", "a/b/c/"})
  void zip_withAFileThatIsAFolderToo_isRefused(String below) throws IOException {
    Map<String, byte[]> files = new TreeMap<>(Map.of("a", CONTENT, below, new byte[0]));
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip(files)));
  }

  @Test
  void zip_withNamesThatAreTooLong_isRefused() throws IOException {
    for (String name : List.of("n".repeat(256), "ä".repeat(128), "n/".repeat(600) + "n")) {
      byte[] zip = zip(Map.of(name, CONTENT));
      try (IncomingVersion incoming = roomy().receive(VERSION, Form.ZIP)) {
        incoming.write(ByteBuffer.wrap(zip));
        StatusException error =
            assertThrows(StatusException.class, () -> incoming.finish(Optional.empty()));
        assertEquals(Status.INVALID_ARGUMENT, error.status());
      }
    }
  }

  private RepositoryWriter roomy() {
    return new RepositoryWriter(root, new ByteSize(100_000), new Random(2));
  }

  @ParameterizedTest
  @ValueSource(strings = {"..", ".hidden", "a/b", ""})
  void names_thatAreNone_areRefused(String name) {
    ModelVersion version = new ModelVersion(name, 1);
    assertThrows(StatusException.class, () -> writer().receive(version, Form.MODEL));
    assertThrows(StatusException.class, () -> writer().delete(version, () -> {}));
  }

  @Test
  void delete_takesTheVersionAndAnEmptyModelAway() throws IOException {
    store(Form.MODEL, CONTENT, Optional.empty());
    Files.createDirectories(root.resolve("a model/4"));
    writer().delete(VERSION, () -> {});
    assertTrue(Files.exists(root.resolve("a model/4")));
    writer().delete(new ModelVersion("a model", 4), () -> {});
    assertEquals(List.of(), entries());
    assertThrows(StatusException.class, () -> writer().delete(VERSION, () -> {}));
  }

  @Test
  void delete_saysSoWhileTheFilesAreStillThere_andOnlyIfItDoes() throws IOException {
    store(Form.MODEL, CONTENT, Optional.empty());
    List<Boolean> found = new ArrayList<>();
    RepositoryWriter writer = writer();
    writer.delete(VERSION, () -> found.add(writer.has(VERSION)));
    assertEquals(List.of(false), found);
    assertThrows(StatusException.class, () -> writer.delete(VERSION, () -> found.add(true)));
    assertEquals(List.of(false), found);
  }

  @Test
  void leftovers_areClearedAwayAtTheStart() throws IOException {
    Files.createDirectories(root.resolve(".draft-0123/content"));
    newWriter(root);
    assertEquals(List.of(), entries());
  }

  @Test
  void zip_withoutFiles_isRefused() throws IOException {
    assertEquals(Status.INVALID_ARGUMENT, refused(Form.ZIP, zip(Map.of("a/", new byte[0]))));
  }

  @Test
  void everyFolder_isOnDiskBeforeTheVersionIsThere() throws IOException {
    List<String> flushed = new ArrayList<>();
    Path target = root.resolve("a model/3");
    RepositoryWriter recording =
        new RepositoryWriter(
            root,
            new ByteSize(1000),
            new Random(3),
            folder -> flushed.add(folder.getFileName() + " " + Files.exists(target)));
    try (IncomingVersion incoming = recording.receive(VERSION, Form.ZIP)) {
      incoming.write(ByteBuffer.wrap(zip(Map.of("model.onnx", CONTENT, "x/y/w", CONTENT))));
      incoming.finish(Optional.empty());
    }
    assertEquals(
        List.of("y false", "x false", "content false", "a model true", "repository true"), flushed);
  }

  @Test
  void folderThatSomebodyHasEmptied_isNoVersion() throws IOException {
    try (IncomingVersion incoming = writer().receive(VERSION, Form.MODEL)) {
      incoming.write(ByteBuffer.wrap(CONTENT));
      try (Stream<Path> paths = Files.walk(entries().getFirst())) {
        for (Path path : paths.filter(Files::isRegularFile).toList()) {
          Files.delete(path);
        }
      }
      StatusException error =
          assertThrows(StatusException.class, () -> incoming.finish(Optional.empty()));
      assertEquals(Status.UNAVAILABLE, error.status());
    }
    assertEquals(List.of(), entries());
  }

  @Test
  void draftsOfThisProcess_areLeftAloneByItsOtherWriters() throws IOException {
    try (IncomingVersion incoming = writer().receive(VERSION, Form.MODEL)) {
      incoming.write(ByteBuffer.wrap(CONTENT));
      newWriter(root);
      incoming.finish(Optional.empty());
    }
    assertArrayEquals(CONTENT, Files.readAllBytes(root.resolve("a model/3/model.onnx")));
  }

  @Test
  void draftsOfAnotherProcess_areLeftAloneWhileItLives() throws Exception {
    Process other = DraftHolder.start(root);
    try (BufferedReader said = other.inputReader();
        Writer orders = other.outputWriter()) {
      assertEquals(DraftHolder.READY, said.readLine());
      assertEquals(2, entries().size(), "an upload and a model that was carried");
      newWriter(root);
      assertEquals(2, entries().size());
      orders.write("finish\n");
      orders.flush();
      assertEquals(DraftHolder.PUBLISHED, said.readLine());
      assertTrue(Files.exists(root.resolve("uploaded/1/model.onnx")));
      assertEquals(2, entries().size(), "the version and the model that was carried");
    } finally {
      other.destroyForcibly();
      other.waitFor();
    }
    newWriter(root);
    assertEquals(List.of(root.resolve("uploaded")), entries());
  }
}
