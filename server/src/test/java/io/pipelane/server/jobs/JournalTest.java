package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A journal of a row that counts and of one that does not, on a disk that is full by then. */
class JournalTest {
  private static final byte[] ROW = "a row\n".getBytes(UTF_8);

  @TempDir Path folder;
  private Path rows = Path.of("");
  private Path progress = Path.of("");
  private boolean isFull;

  @BeforeEach
  void nameFiles() {
    rows = folder.resolve("rows");
    progress = folder.resolve("progress");
  }

  /** Whose progress finds no room to be flushed once the disk is full. */
  private Journal journal() throws IOException {
    JobStep.Hook hook =
        step -> {
          if (isFull && step == JobStep.FLUSH_PROGRESS) {
            throw new IOException("No space left on device");
          }
        };
    Journal journal = new Journal(rows, progress, Progress.NONE, hook);
    journal.goOn();
    journal.add(ROW, false, 1);
    assertTrue(journal.commit(Journal.Checkpoint.NONE));
    journal.add(ROW, false, 2);
    isFull = true;
    return journal;
  }

  /** An overwrite takes room on disks that copy on write. */
  @Test
  void giveRoomBack_ofRowsThatFoundNone_writesNothing() throws IOException {
    try (Journal journal = journal()) {
      Files.writeString(progress, "nobody's");
      journal.giveRoomBack();
    }
    assertEquals(ROW.length, Files.size(rows));
    assertEquals("nobody's", Files.readString(progress));
  }

  /** What was to count may be on disk, though its flush has failed. */
  @Test
  void giveRoomBack_ofProgressThatFoundNone_writesWhatCounts() throws IOException {
    try (Journal journal = journal()) {
      assertThrows(IOException.class, () -> journal.commit(Journal.Checkpoint.NONE));
      assertEquals(2, Journal.read(progress).rows());
      journal.giveRoomBack();
    }
    assertEquals(ROW.length, Files.size(rows));
    assertEquals(1, Journal.read(progress).rows());
  }
}
