package io.pipelane.modelstore.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContentHashesTest {
  private static final Instant CHANGED = Instant.parse("2026-01-01T00:00:00Z");

  @TempDir Path root;
  private Path model;

  @BeforeEach
  void files() throws IOException {
    model = Files.createDirectories(root.resolve("1")).resolve("model.onnx");
    write("one");
  }

  private static String ofModel(ContentHashes hashes, Path model) throws IOException {
    return hashes.ofModel(model, ModelFolder.of(model));
  }

  @Test
  void ofModel_settledFile_isRememberedAcrossProcesses() throws IOException {
    String hash = ofModel(hashes(Duration.ofMinutes(1)), model);
    assertEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
    forge();
    String remembered = ofModel(hashes(Duration.ofMinutes(1)), model);
    assertNotEquals(hash, remembered, "it was read again");
    Files.setLastModifiedTime(model, FileTime.from(CHANGED.plusMillis(1)));
    assertEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
  }

  @Test
  void ofModel_indexThatProcessesShare_keepsWhatEachHasHashed() throws IOException {
    Path other = Files.createDirectories(root.resolve("2")).resolve("model.onnx");
    Files.writeString(other, "other");
    Files.setLastModifiedTime(other, FileTime.from(CHANGED));
    ContentHashes first = hashes(Duration.ofMinutes(1));
    ContentHashes second = hashes(Duration.ofMinutes(1));
    ofModel(first, model);
    ofModel(second, other);
    ContentHashes next = hashes(Duration.ofMinutes(1));
    assertTrue(next.knows(ModelFolder.of(model)));
    assertTrue(next.knows(ModelFolder.of(other)));
  }

  /** Each has read the file before, and one again after it has changed. */
  @Test
  void ofModel_indexThatProcessesShare_keepsTheLatestOfAFile() throws IOException {
    Path other = Files.createDirectories(root.resolve("2")).resolve("model.onnx");
    Files.writeString(other, "other");
    Files.setLastModifiedTime(other, FileTime.from(CHANGED));
    ContentHashes first = hashes(Duration.ofMinutes(1));
    ofModel(first, model);
    write("two, longer");
    ofModel(hashes(Duration.ofMinutes(1)), model);
    ofModel(first, other);
    assertTrue(hashes(Duration.ofMinutes(1)).knows(ModelFolder.of(model)));
  }

  @Test
  void ofModel_fileWrittenAnewWithItsOldTime_isReadAgain() throws IOException {
    String hash = ofModel(hashes(Duration.ofMinutes(1)), model);
    write("two");
    assertNotEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
  }

  /** In a locale without the name's characters; none has a name with a NUL. */
  @Test
  void open_nameThatIsNoPath_isLeftOut() throws IOException {
    String hash = ofModel(hashes(Duration.ofMinutes(1)), model);
    String text = Files.readString(index());
    Files.writeString(index(), text.replace("model.onnx", "mod\\u0000el.onnx"));
    assertEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
    assertTrue(Files.readString(index()).contains("/model.onnx"));
    assertFalse(Files.readString(index()).contains("u0000"));
  }

  @Test
  void ofModel_indexThatCannotBeWritten_isNoFailure() throws IOException {
    Path nowhere = root.resolve("missing/hashes.json");
    String hash = ofModel(ContentHashes.open(nowhere, clock(Duration.ofMinutes(1))), model);
    assertEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
  }

  @Test
  void ofModel_nothingNew_isNotSaved() throws IOException {
    ContentHashes hashes = hashes(Duration.ofMinutes(1));
    ofModel(hashes, model);
    Files.delete(index());
    ofModel(hashes, model);
    assertFalse(Files.exists(index()));
  }

  @Test
  void ofModel_fileChangedJustNow_isReadEachTime() throws IOException {
    String hash = ofModel(hashes(Duration.ofMillis(10)), model);
    write("two");
    assertNotEquals(hash, ofModel(hashes(Duration.ofMillis(10)), model));
  }

  @Test
  void ofModel_externalData_counts() throws IOException {
    String hash = ofModel(hashes(Duration.ofMinutes(1)), model);
    Files.writeString(root.resolve("1/weights.data"), "w");
    assertNotEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
  }

  @Test
  void ofModel_linkedFolder_isThatOfItsContent() throws IOException {
    Path link = Files.createSymbolicLink(root.resolve("2"), root.resolve("1"));
    ContentHashes hashes = hashes(Duration.ofMinutes(1));
    String hash = ofModel(hashes, link.resolve("model.onnx"));
    assertEquals(ofModel(hashes, model), hash);
  }

  @Test
  void open_damagedIndex_startsAnew() throws IOException {
    String hash = ofModel(hashes(Duration.ofMinutes(1)), model);
    Files.writeString(index(), "{\"a\": [");
    assertEquals(hash, ofModel(hashes(Duration.ofMinutes(1)), model));
  }

  @Test
  void indexThatCannotBeWritten_isToldWithItsReasonInALine() throws IOException {
    Path folder = Files.createDirectory(root.resolve("cache"));
    ContentHashes hashes =
        ContentHashes.open(folder.resolve("hashes.json"), clock(Duration.ofMinutes(1)));
    Files.delete(folder);
    Logger logger = Logger.getLogger(ContentHashes.class.getName());
    List<String> lines = new ArrayList<>();
    logger.setFilter(record -> lines.add(new SimpleFormatter().formatMessage(record)));
    try {
      ofModel(hashes, model);
    } finally {
      logger.setFilter(null);
    }
    assertEquals(1, lines.size());
    assertTrue(lines.getFirst().contains("NoSuchFileException"), lines.getFirst());
  }

  private ContentHashes hashes(Duration sinceChange) throws IOException {
    return ContentHashes.open(index(), clock(sinceChange));
  }

  private Path index() {
    return root.resolve("hashes.json");
  }

  private Clock clock(Duration sinceChange) throws IOException {
    Instant changed = FileStamp.of(model).changed();
    return Clock.fixed(changed.plus(sinceChange), ZoneOffset.UTC);
  }

  /** Puts another hash into the index. */
  private void forge() throws IOException {
    String text = Files.readString(index());
    Files.writeString(index(), text.replaceAll("\"sha256\":\"[^\"]*\"", "\"sha256\":\"forged\""));
  }

  private void write(String content) throws IOException {
    Files.writeString(model, content);
    Files.setLastModifiedTime(model, FileTime.from(CHANGED));
  }
}
