package io.pipelane.demo.input;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * A reader of PNG files of 8 bits of grey a pixel, not interlaced, without Java's imaging, which
 * small runtimes leave out.
 */
final class GreyPng {
  private static final long SIGNATURE = 0x89504e470d0a1a0aL;
  private static final int MAXIMUM_SIDE = 1 << 14;

  private GreyPng() {}

  /**
   * Reads a picture.
   *
   * @throws IOException when the file is no PNG, or one of another form
   */
  static Picture read(InputStream file) throws IOException {
    DataInputStream in = new DataInputStream(file);
    if (in.readLong() != SIGNATURE) {
      throw new IOException("the file is not a PNG");
    }
    int width = 0;
    int height = 0;
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    while (true) {
      int length = in.readInt();
      String chunk = new String(in.readNBytes(4), StandardCharsets.US_ASCII);
      byte[] data = in.readNBytes(length);
      in.readInt(); // its checksum; what is packed inside has one of its own
      switch (chunk) {
        case "IHDR" -> {
          DataInputStream header = new DataInputStream(new ByteArrayInputStream(data));
          width = header.readInt();
          height = header.readInt();
          requireGrey(width, height, header.readInt(), header.readByte());
        }
        case "IDAT" -> packed.write(data);
        case "IEND" -> {
          return new Picture(width, height, pixels(packed.toByteArray(), width, height));
        }
        default -> {
          // Nothing else changes the pixels.
        }
      }
    }
  }

  /** Depth 8, colour type 0, and compression, filter and interlace methods 0. */
  private static void requireGrey(int width, int height, int form, byte interlace)
      throws IOException {
    boolean sized = width > 0 && height > 0 && Math.max(width, height) <= MAXIMUM_SIDE;
    if (!sized || form != 0x08000000 || interlace != 0) {
      throw new IOException("the picture is not of 8 bits of grey a pixel, not interlaced");
    }
  }

  private static float[] pixels(byte[] packed, int width, int height) throws IOException {
    byte[] rows = unpacked(packed, (width + 1) * height);
    float[] grey = new float[width * height];
    int[] above = new int[width];
    for (int y = 0; y < height; y++) {
      int begin = y * (width + 1);
      int[] row = new int[width];
      for (int x = 0; x < width; x++) {
        int left = x == 0 ? 0 : row[x - 1];
        int corner = x == 0 ? 0 : above[x - 1];
        int predicted = predicted(rows[begin], left, above[x], corner);
        row[x] = rows[begin + 1 + x] + predicted & 0xff;
        grey[y * width + x] = row[x];
      }
      above = row;
    }
    return grey;
  }

  private static byte[] unpacked(byte[] packed, int bytes) throws IOException {
    byte[] result = new byte[bytes];
    try (Inflater inflater = new Inflater()) {
      inflater.setInput(packed);
      int done = 0;
      while (done < bytes) {
        int more = inflater.inflate(result, done, bytes - done);
        if (more == 0) {
          throw new EOFException("the picture ends after %d of %d bytes".formatted(done, bytes));
        }
        done += more;
      }
    } catch (DataFormatException e) {
      throw new IOException("the picture is damaged: " + e.getMessage(), e);
    }
    return result;
  }

  /** What a row's filter adds to each byte (PNG specification, section 9.2). */
  private static int predicted(byte filter, int left, int above, int corner) throws IOException {
    return switch (filter) {
      case 0 -> 0;
      case 1 -> left;
      case 2 -> above;
      case 3 -> (left + above) / 2;
      case 4 -> paeth(left, above, corner);
      default -> throw new IOException("the picture has a filter of type " + filter);
    };
  }

  private static int paeth(int left, int above, int corner) {
    int estimate = left + above - corner;
    int toLeft = Math.abs(estimate - left);
    int toAbove = Math.abs(estimate - above);
    int toCorner = Math.abs(estimate - corner);
    if (toLeft <= toAbove && toLeft <= toCorner) {
      return left;
    }
    return toAbove <= toCorner ? above : corner;
  }
}
