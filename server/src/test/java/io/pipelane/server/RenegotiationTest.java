package io.pipelane.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.regex.Pattern.MULTILINE;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.net.Certificates;
import io.pipelane.server.net.TlsIdentity;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A server in a process of its own whose client begins another handshake on its connection. */
@Timeout(120)
class RenegotiationTest {
  /** The whole line, of which half may be there at first. */
  private static final Pattern LISTENS = Pattern.compile("^Listening on (\\S+)\n", MULTILINE);

  private static final byte[] REQUEST =
      "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  private final Patience patience = Patience.begin();

  @Test
  void clientThatBeginsAnotherHandshake_isAnsweredNoMore() throws Exception {
    Certificates.make(folder, "server");
    Process server =
        ServeProgram.start(
            folder,
            "--server.grpc-port=-1",
            "--server.tls-certificate=" + folder.resolve("server.pem"),
            "--server.tls-key=" + folder.resolve("server.key"));
    try {
      patience.awaitTrue("it listens", () -> LISTENS.matcher(log()).find());
      try (SSLSocket client = connect()) {
        client.setEnabledProtocols(new String[] {"TLSv1.2"});
        ask(client);
        client.startHandshake();
        assertThrows(IOException.class, () -> ask(client));
      }
    } finally {
      server.destroyForcibly().waitFor();
    }
  }

  private static void ask(SSLSocket client) throws IOException {
    client.getOutputStream().write(REQUEST);
    assertNotEquals(-1, client.getInputStream().read(new byte[1024]));
  }

  private SSLSocket connect() throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    trusted.setCertificateEntry(
        "server", TlsIdentity.certificates(folder.resolve("server.pem")).getFirst());
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    Matcher listens = LISTENS.matcher(log());
    assertTrue(listens.find());
    int port = URI.create(listens.group(1)).getPort();
    return (SSLSocket)
        context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
  }

  private String log() throws IOException {
    return Files.readString(folder.resolve("server.log"));
  }
}
