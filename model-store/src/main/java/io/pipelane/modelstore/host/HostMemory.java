package io.pipelane.modelstore.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Host memory as a device's transfers want it: the page cache itself, or memory that its DMA may
 * read. Safe for any thread.
 */
@FunctionalInterface
public interface HostMemory {
  /** The page cache, mapped: for devices that read ordinary memory. */
  HostMemory PAGE_CACHE = MappedFile::map;

  /**
   * Puts a file's content into memory, and blocks until it is there.
   *
   * @throws IOException when the file cannot be read
   * @throws RuntimeException when there is no memory for it
   */
  Loaded load(Path file) throws IOException;

  /**
   * The same for those who follow, where this memory can be read while it is being filled; a lambda
   * of {@link #load(Path)} tells them nothing. Other processes may not be able to open it.
   *
   * @param filling told as it goes; ended before memory that could not be filled is given back, and
   *     by the caller otherwise
   */
  default Loaded load(Path file, Filling filling) throws IOException {
    filling.end();
    return load(file);
  }

  /**
   * Says how much memory everything that is loaded with a {@link Filling} is to take. Within that,
   * memory of what is closed may be kept for what comes; more of it goes back at once.
   */
  default void keepWithin(long bytes) {}

  /**
   * Takes some memory ahead of the next file, a part at a time, within what {@link #keepWithin}
   * says. Called by one thread at a time; takes some milliseconds.
   *
   * @param bytes how much is to be spare in the end
   * @return whether something was missing, and more may be
   */
  default boolean prepare(long bytes) {
    return false;
  }

  /** Memory that holds nothing and is kept for what comes. */
  default long spareBytes() {
    return 0;
  }

  /**
   * Memory that other processes of the same user can open.
   *
   * @param number no other memory of this process has it, had it or will have it; positive
   * @param descriptor of this process; open as long as the memory is there
   */
  record Shared(int number, int descriptor) {}

  /** A file's content in memory, as long as it is not closed. */
  interface Loaded extends AutoCloseable {
    /** Exactly the content; must not be written to. */
    MemorySegment memory();

    /** How other processes open it, where they can. */
    default Optional<Shared> shared() {
      return Optional.empty();
    }

    /** Gives the memory back; nobody reads it any more. */
    @Override
    void close();
  }
}
