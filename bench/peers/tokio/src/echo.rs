// SPDX-License-Identifier: Apache-2.0
// An echo server: a task per connection. It prints its port and serves until it is killed.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

pub async fn serve(_connections: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
    println!("port\t{}", listener.local_addr().expect("an address").port());
    loop {
        let (mut stream, _) = listener.accept().await.expect("accept");
        stream.set_nodelay(true).expect("nodelay");
        tokio::spawn(async move {
            let mut buffer = [0u8; 1024];
            while let Ok(count) = stream.read(&mut buffer).await {
                if count == 0 || stream.write_all(&buffer[..count]).await.is_err() {
                    break;
                }
            }
        });
    }
}
