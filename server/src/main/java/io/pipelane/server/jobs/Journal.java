package io.pipelane.server.jobs;

import io.pipelane.modelstore.WholeFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A job's rows and how many of them count. Belongs to one thread.
 *
 * <p>Rows are brought to disk before the progress that counts them. Progress is written to two
 * places in turn, so one of them is whole at any moment; rows beyond it are cut off when the job
 * goes on. So no row is lost that was counted, and none is there twice.
 */
final class Journal implements AutoCloseable {
  /*
   * What a file is read to hold need not be on disk, nor what it holds on disk be what was
   * committed: a flush that has failed may have brought all of it there, or nothing, and the next
   * one says nothing of it. So who goes on says from what, and that is brought to both places before
   * a row is cut off: first to its own one, as the other may have all that is on disk.
   */
  /** Far enough apart that damage to one leaves the other alone. */
  private static final int PLACE_BYTES = 4096;

  private final Path rowFile;
  private final Path progressFile;
  private final FileChannel rows;
  private final FileChannel places;
  private final JobStep.Hook hook;
  private Progress committed;
  private Progress written;

  /** Whether a place on disk may count rows that do not count: then none is cut off. */
  private boolean isInDoubt = true;

  /**
   * Opens or creates both files.
   *
   * @param committed last, or read when the job was found
   */
  Journal(Path rowFile, Path progressFile, Progress committed, JobStep.Hook hook)
      throws IOException {
    this.rowFile = rowFile;
    this.progressFile = progressFile;
    this.hook = hook;
    this.committed = committed;
    this.written = committed;
    rows = FileChannel.open(rowFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    boolean opened = false;
    try {
      places = FileChannel.open(progressFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      opened = true;
    } finally {
      if (!opened) {
        rows.close();
      }
    }
  }

  /** Goes on behind the last row that counts; before anything is added. */
  void goOn() throws IOException {
    if (rows.size() < committed.outputBytes()) {
      throw new IOException(
          "%s has %d bytes, and %d were written"
              .formatted(rowFile, rows.size(), committed.outputBytes()));
    }
    isInDoubt = true;
    for (long place : List.of(committed.number(), committed.number() + 1)) {
      write(places, committed.encoded(), place % 2 * PLACE_BYTES);
      places.force(true);
    }
    isInDoubt = false;
    rows.truncate(committed.outputBytes());
    rows.position(committed.outputBytes());
    WholeFile.flush(WholeFile.folderOf(rowFile));
    WholeFile.flush(WholeFile.folderOf(progressFile));
  }

  /**
   * Cuts off the rows that do not count, where the disk is full. Writes nothing, as an overwrite
   * takes room on a disk that copies on write, unless it was progress that found none.
   */
  void giveRoomBack() throws IOException {
    if (isInDoubt) {
      goOn();
    } else {
      rows.truncate(committed.outputBytes());
    }
  }

  /** What was committed last; none where there is no file. */
  static Progress read(Path progressFile) throws IOException {
    if (!progressFile.toFile().exists()) {
      return Progress.NONE;
    }
    try (FileChannel channel = FileChannel.open(progressFile, StandardOpenOption.READ)) {
      return Stream.of(read(channel, 0), read(channel, PLACE_BYTES))
          .flatMap(Optional::stream)
          .max(Comparator.comparingLong(Progress::number))
          .orElse(Progress.NONE);
    }
  }

  private static Optional<Progress> read(FileChannel channel, long place) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(Progress.BYTES);
    while (bytes.hasRemaining() && channel.read(bytes, place + bytes.position()) > 0) {}
    return Progress.decoded(bytes.flip());
  }

  /** How far the job is, whatever happens. */
  Progress committed() {
    return committed;
  }

  /** Rows that a crash would cost. */
  long uncommitted() {
    return written.rows() - committed.rows();
  }

  /**
   * Adds a row.
   *
   * @param row with the end of its line
   * @param nextItem where the next item begins in the input
   */
  void add(byte[] row, boolean hasFailed, long nextItem) throws IOException {
    hook.before(JobStep.WRITE_ROW);
    write(rows, ByteBuffer.wrap(row), rows.position());
    rows.position(written.outputBytes() + row.length);
    written = written.withRow(hasFailed, row.length, nextItem);
  }

  /** The data that has to be on disk before rows count. */
  @FunctionalInterface
  interface Checkpoint {
    /** Where rows need nothing else. */
    Checkpoint NONE = _ -> true;

    /**
     * Brings it to disk.
     *
     * @param number of the progress that will count the rows; what belongs to the one before must
     *     stay
     * @return false where it is not there any more, so the rows cannot count
     */
    boolean write(long number) throws IOException;
  }

  /**
   * Makes all rows count that have been written.
   *
   * @return false when the checkpoint could not be made; all is as it was then
   */
  boolean commit(Checkpoint checkpoint) throws IOException {
    if (uncommitted() == 0) {
      return true;
    }
    hook.before(JobStep.FLUSH_ROWS);
    rows.force(true);
    Progress next = written.committed();
    if (!checkpoint.write(next.number())) {
      return false;
    }
    hook.before(JobStep.WRITE_PROGRESS);
    isInDoubt = true;
    write(places, next.encoded(), next.number() % 2 * PLACE_BYTES);
    hook.before(JobStep.FLUSH_PROGRESS);
    places.force(true);
    isInDoubt = false;
    committed = next;
    written = next;
    return true;
  }

  private static void write(FileChannel channel, ByteBuffer bytes, long position)
      throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += channel.write(bytes, at);
    }
  }

  @Override
  public void close() throws IOException {
    try (rows) {
      places.close();
    }
  }
}
