package io.pipelane.server.net;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSessionContext;

/**
 * A context of TLS that another may take the place of, alike but for whom it trusts. Connections
 * begin with the latest one, which knows none of the sessions of those before: whoever resumes a
 * session is not asked for his certificate again. Safe for any thread.
 */
final class LatestSslContext extends SslContext {
  private volatile SslContext latest;

  LatestSslContext(SslContext first) {
    latest = first;
  }

  /** Has the connections that come from now on begin with another one. */
  void replace(SslContext next) {
    latest = next;
  }

  @Override
  public boolean isClient() {
    return latest.isClient();
  }

  @Override
  public List<String> cipherSuites() {
    return latest.cipherSuites();
  }

  @Override
  @SuppressWarnings("deprecation") // of what it answers, not of itself
  public io.netty.handler.ssl.ApplicationProtocolNegotiator applicationProtocolNegotiator() {
    return latest.applicationProtocolNegotiator();
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator) {
    return latest.newEngine(allocator);
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator, String peerHost, int peerPort) {
    return latest.newEngine(allocator, peerHost, peerPort);
  }

  @Override
  public SSLSessionContext sessionContext() {
    return latest.sessionContext();
  }
}
