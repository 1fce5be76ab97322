package io.pipelane.loadgen.request;

import io.pipelane.loadgen.settings.PreparedRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * The writer of tensors as one NumPy archive, stored and not compressed, which DJL Serving reads.
 */
final class NumpyArchive {
  private NumpyArchive() {}

  static PreparedRequest request(List<TensorValue> inputs) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (ZipOutputStream zip = new ZipOutputStream(body)) {
      for (TensorValue input : inputs) {
        byte[] file = NumpyFile.write(input);
        ZipEntry entry = new ZipEntry(input.name() + ".npy");
        entry.setMethod(ZipEntry.STORED);
        entry.setTime(0);
        entry.setSize(file.length);
        CRC32 sum = new CRC32();
        sum.update(file);
        entry.setCrc(sum.getValue());
        zip.putNextEntry(entry);
        zip.write(file);
        zip.closeEntry();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new PreparedRequest(
        Map.of("Content-Type", "tensor/npz", "Accept", "tensor/npz"),
        ByteBuffer.wrap(body.toByteArray()));
  }
}
