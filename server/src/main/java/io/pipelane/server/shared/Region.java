package io.pipelane.server.shared;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * A region in use. Nothing of it is mapped: it is read and written through its descriptor, so that
 * a client that makes it smaller, or writes to it meanwhile, can harm its own requests only. Safe
 * for any thread.
 */
final class Region {
  /*
   * The monitor guards `uses` and `leaving`. The table's own use is not counted: the file is closed
   * when the region leaves and nobody uses it, by whoever is last.
   */

  private final RegionSpec spec;
  private final FileChannel file;
  private final CompletableFuture<Void> closed = new CompletableFuture<>();
  private int uses;
  private boolean leaving;

  private Region(RegionSpec spec, FileChannel file) {
    this.spec = spec;
    this.file = file;
  }

  /**
   * Opens it.
   *
   * @param folder where the system keeps shared memory
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is not there, or too small
   */
  static Region open(Path folder, RegionSpec spec) {
    Path path = folder.resolve(spec.fileName());
    if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
      throw RegionSpec.invalid("there is no shared memory \"" + spec.key() + '"');
    }
    try {
      FileChannel file =
          FileChannel.open(
              path,
              Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
      Region region = new Region(spec, file);
      if (file.size() < spec.offset() + spec.byteSize()) {
        long size = file.size();
        file.close();
        throw RegionSpec.invalid(
            "shared memory \"%s\" has %d bytes, the region ends at %d"
                .formatted(spec.key(), size, spec.offset() + spec.byteSize()));
      }
      return region;
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "shared memory \"" + spec.key() + "\" cannot be opened: " + e.getMessage(),
          e);
    }
  }

  RegionSpec spec() {
    return spec;
  }

  /** Begins a use, which {@link #release} ends; false when the region leaves. */
  synchronized boolean retain() {
    if (!leaving) {
      uses++;
    }
    return !leaving;
  }

  void release() {
    boolean last;
    synchronized (this) {
      uses--;
      last = leaving && uses == 0;
    }
    if (last) {
      close();
    }
  }

  /**
   * Lets no more uses begin.
   *
   * @return completes when nobody uses it any more
   */
  CompletableFuture<Void> leave() {
    boolean last;
    synchronized (this) {
      last = !leaving && uses == 0;
      leaving = true;
    }
    if (last) {
      close();
    }
    return closed;
  }

  private void close() {
    try {
      file.close();
    } catch (IOException e) {
      System.getLogger(Region.class.getName())
          .log(System.Logger.Level.WARNING, "shared memory was not closed", e);
    }
    closed.complete(null);
  }

  /**
   * Checks that a part lies inside.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it does not
   */
  void check(RegionPart part) {
    if (part.offset() > spec.byteSize() - part.byteSize()) {
      throw RegionSpec.invalid(
          "%d bytes at offset %d are not inside region \"%s\" of %d bytes"
              .formatted(part.byteSize(), part.offset(), spec.name(), spec.byteSize()));
    }
  }

  /**
   * Fills a buffer from the region.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the region has become smaller
   */
  void read(long offset, ByteBuffer target) {
    long at = spec.offset() + offset;
    try {
      while (target.hasRemaining()) {
        int bytes = file.read(target, at);
        if (bytes < 0) {
          throw shrunk();
        }
        at += bytes;
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /**
   * Writes a buffer to the region.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the region has become smaller
   */
  void write(long offset, ByteBuffer source) {
    long at = spec.offset() + offset;
    try {
      if (file.size() < at + source.remaining()) {
        throw shrunk();
      }
      while (source.hasRemaining()) {
        at += file.write(source, at);
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private StatusException shrunk() {
    return RegionSpec.invalid(
        "region \"%s\" has become smaller than it was when it was registered"
            .formatted(spec.name()));
  }

  private StatusException failed(IOException e) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "region \"" + spec.name() + "\" cannot be used: " + e.getMessage(),
        e);
  }
}
