package io.pipelane.server.net;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;

/**
 * Files of certificates and their keys that belong together, read again when one of them changes.
 * While they cannot be used, what they said before holds, and they are tried again: a writer may be
 * between one and the other. Used by one thread at a time.
 */
final class CertificateFiles {
  private static final System.Logger LOG = System.getLogger(CertificateFiles.class.getName());

  private final String what;
  private final List<Path> files;
  private final Reader reader;
  private List<FileTime> seen = List.of();
  private List<FileTime> warnedOf = List.of();

  /** A reader of the files that has what they say take force; throws where it cannot be used. */
  @FunctionalInterface
  interface Reader {
    void read() throws IOException, GeneralSecurityException;
  }

  /**
   * Reads nothing yet.
   *
   * @param what they hold, in words
   */
  CertificateFiles(String what, List<Path> files, Reader reader) {
    this.what = what;
    this.files = List.copyOf(files);
    this.reader = reader;
  }

  /** Reads them if one has changed since they could last be used. */
  void look() throws IOException, GeneralSecurityException {
    List<FileTime> times = times();
    if (!times.equals(seen)) {
      reader.read();
      seen = times;
      warnedOf = List.of();
      LOG.log(Level.INFO, "{0} is in force as {1} have it", what, files);
    }
  }

  /** The same; what keeps them from being used is logged, once per change. */
  void lookAgain() {
    try {
      look();
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      warn(e);
    }
  }

  private void warn(Exception error) {
    List<FileTime> times;
    try {
      times = times();
    } catch (IOException e) {
      times = List.of(FileTime.fromMillis(0)); // They are not there, which is said once, too.
    }
    if (!times.equals(warnedOf)) {
      warnedOf = times;
      LOG.log(Level.WARNING, "{0} stays as it was, {1} cannot be used: {2}", what, files, error);
    }
  }

  private List<FileTime> times() throws IOException {
    List<FileTime> times = new ArrayList<>(files.size());
    for (Path file : files) {
      times.add(Files.getLastModifiedTime(file));
    }
    return times;
  }
}
